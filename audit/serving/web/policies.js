// Policies: how often each line decided, and which rules never did.
import { get } from "./api.js";
import { button, fill, h, number, plural } from "./dom.js";
import { address, go, state as now } from "./state.js";
import { shown, value, word } from "./text.js";
import { brief, full, presets, rangeName } from "./times.js";
import { yaml } from "./yaml.js";

let asked = 0;

export async function show(node, state) {
  const turn = (asked += 1);
  node.setAttribute("aria-busy", "true");
  if (!node.firstChild) fill(node, h("p", { class: "muted" }, "Asking …"));
  const window = { since: state.since === "all" ? "" : state.since, until: state.until };
  try {
    const list = await get("/v1/policies", window);
    const chosen = state.policy || list.policies[0]?.digest;
    const one = chosen ? await get(`/v1/policies/${encodeURIComponent(chosen)}`, window) : null;
    if (turn === asked) fill(node, ...page(list.policies, one, chosen));
  } catch (error) {
    if (turn === asked) fill(node, h("h1", {}, "Policies"), times(), h("p", { class: "is-error" }, shown(error.message)), error.hint ? h("p", { class: "muted" }, shown(error.hint)) : null);
  } finally {
    if (turn === asked) node.removeAttribute("aria-busy");
  }
}

function times() {
  const isPreset = presets.some(([value]) => value === now.since) && !now.until;
  const choice = h("select", { id: "policy-range", on: { change: (event) => go({ since: event.target.value, until: "" }) } },
    presets.map(([value, name]) => h("option", { value, ...(value === now.since && !now.until ? { selected: true } : {}) }, name)),
    isPreset ? null : h("option", { value: now.since, selected: true }, rangeName(now)));
  return h("p", {}, h("label", { for: "policy-range" }, "Hits of "), choice);
}

function page(policies, one, chosen) {
  if (!policies.length) return [h("h1", {}, "Policies"), h("p", {}, "No policy is on record. A policy gets here with ", h("code", {}, "audit policy apply -f POLICY.yaml --sandbox NAME"), ", and each event then names the line that decided it.")];
  return [h("h1", {}, "Policies"), times(), h("div", { class: "two" }, h("ul", { class: "choices" }, policies.map((policy) => choice(policy, chosen))), one ? text(one) : null)];
}

function choice(policy, chosen) {
  const isHere = policy.digest === chosen;
  const patch = { policy: policy.digest };
  return h("li", {}, h("a", { href: address(patch), ...(isHere ? { "aria-current": "true" } : {}), on: { click: (event) => { event.preventDefault(); go(patch); } } },
    h("b", {}, ...value(policy.name)),
    h("span", { class: "muted mono" }, ` ${shown(policy.digest).replace(/^sha256:/, "").slice(0, 6)}`),
    h("span", { class: "muted" }, `${(policy.sandboxes ?? []).map(shown).join(", ") || "no sandbox"} · since ${policy.from ? brief(new Date(policy.from)) : "?"}`),
    h("span", {}, `${plural(policy.hits ?? 0, "hit")}, ${policy.never_hit ? `${number(policy.never_hit)} of ${plural(policy.rules ?? 0, "rule")} never hit` : "every rule hit"}`)));
}

function text(one) {
  const most = Math.max(1, ...one.rules.map((rule) => rule.hits));
  const at = new Map(one.rules.map((rule) => [rule.lines?.[0], rule]));
  // Several rules may stand on one line (allow: [git, rg]): the line then shows their sum.
  for (const rule of one.rules) {
    const first = at.get(rule.lines?.[0]);
    if (first !== rule && rule.lines) at.set(rule.lines[0], merged(one.rules.filter((other) => other.lines?.[0] === rule.lines[0])));
  }
  return h("section", { "aria-label": "Policy text" },
    h("h2", {}, ...value(one.name)),
    one.never_hit.length ? h("p", {}, h("b", {}, plural(one.never_hit.length, "rule")), " never hit in this time: ", h("span", { class: "mono" }, one.never_hit.map(shown).join(", "))) : h("p", {}, "Every rule was hit in this time."),
    yaml(one.text_lines, 1, () => false, (number_) => hits(at.get(number_), most)),
    one.defaults?.length ? [h("h3", {}, "What no line decides"), h("table", { class: "data" }, h("tbody", {}, one.defaults.map(fallback)))] : null);
}

function merged(rules) {
  const sum = (name) => rules.reduce((total, rule) => total + rule[name], 0);
  return { ...rules[0], hits: sum("hits"), allow: sum("allow"), deny: sum("deny"), many: rules };
}

function hits(rule, most) {
  if (!rule) return null;
  if (!rule.hits) return h("span", { class: "never", title: shown(rule.rule) }, "never hit");
  const bar = h("span", { class: `share is-${rule.kind === "allow" ? "allow" : "deny"}`, "aria-hidden": "true" });
  bar.style.width = `${Math.max(2, (100 * rule.hits) / most)}%`;
  const name = rule.many ? rule.many.map((one) => `${shown(one.rule)}: ${number(one.hits)}`).join("\n") : shown(rule.rule);
  const never = rule.many?.filter((one) => !one.hits).length;
  const last = rule.last ? `\nlast ${full(new Date(rule.last))}` : "";
  return [bar, button([number(rule.hits), never ? h("span", { class: "never" }, ` ${never} never`) : null], () => open(rule), { class: "link", title: name + last, "aria-label": `${plural(rule.hits, "hit")} of ${shown(rule.rule)}, show the events` })];
}

const open = (rule) => go({ view: "events", policy: "", q: (rule.many ?? [rule]).filter((one) => one.hits).map((one) => word("rule", one.rule)).join(" ") });

function fallback(rule) {
  return h("tr", {}, h("td", { class: "mono" }, shown(rule.rule)),
    h("td", { class: "num" }, rule.hits ? button(number(rule.hits), () => open(rule), { class: "link", "aria-label": `${plural(rule.hits, "hit")} of ${shown(rule.rule)}, show the events` }) : h("span", { class: "never" }, "never hit")),
    h("td", { class: "muted" }, rule.last ? `last ${brief(new Date(rule.last))}` : ""));
}
