// Which rule decided, its lines as they were then, why, and what would change it.
import { copy, h, button } from "./dom.js";
import { rule } from "./cells.js";
import { go } from "./state.js";
import { shown, value } from "./text.js";
import { yaml } from "./yaml.js";

const ORIGINS = { reported: "reported", tagged: "from the tag in the policy", linked: "from the linked event", derived: "derived by replay, not reported" };

/** The section of an explanation; nothing for what no rule decides. */
export function explained(event, told) {
  if (!told || (event.kind !== "decision" && !told.rule)) return null;
  return h("section", { class: "explained" },
    h("h3", {}, "Rule"),
    h("p", {}, h("b", { class: "mono" }, told.rule ? shown(told.rule) : rule(event) || "none known"), told.rule ? origin(told) : h("span", { class: "muted" }, " names no rule")),
    policy(told),
    told.yaml ? lines(told.yaml) : null,
    reason("Why", told.why),
    flip(told.flip),
    whole(told.text, !told.why));
}

const origin = (told) => (told.rule && ORIGINS[told.origin] ? h("span", { class: "muted" }, ` ${ORIGINS[told.origin]}`) : null);

function policy({ policy: name, policy_digest: digest }) {
  if (!name) return null;
  const show = (event) => { event.preventDefault(); go({ view: "policies", policy: digest ?? "", event: "" }); };
  return h("p", { class: "muted" }, "policy ", digest ? h("a", { href: "#", on: { click: show } }, ...value(name)) : value(name), digest ? ` sha256:${digest.replace(/^sha256:/, "").slice(0, 6)}…` : "");
}

function lines({ name, first_line: first, lines: texts, marked }) {
  const [from, to] = marked ?? [0, -1];
  return h("figure", { class: "policy-lines" },
    yaml(texts, first, (number) => number >= from && number <= to),
    name ? h("figcaption", { class: "muted mono" }, ...value(name)) : null);
}

function reason(title, told) {
  const texts = [told ?? []].flat();
  return texts.length ? h("div", {}, h("h4", {}, title), texts.map((text) => h("p", {}, ...value(text)))) : null;
}

function flip(told) {
  if (!told) return null;
  const { words, lines: texts = [], advice } = told;
  return h("div", {}, h("h4", {}, "What would change it"), h("p", {}, ...value(words)),
    texts.length ? h("pre", { class: "mono" }, texts.map(shown).join("\n")) : null,
    advice ? h("p", { class: "muted" }, ...value(advice)) : null);
}

// Open where nothing else explains: there it says why no rule is known.
function whole(texts, isOpen) {
  if (!texts?.length) return null;
  return h("details", { open: isOpen }, h("summary", {}, "As the command line prints it"),
    h("pre", { class: "mono" }, texts.map(shown).join("\n")),
    button("Copy", () => copy(texts.map(shown).join("\n")), { class: "quiet" }));
}
