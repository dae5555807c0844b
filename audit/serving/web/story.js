// One agent run as a story: what it did, where it was refused and by which line, where the record has holes.
import * as cells from "./cells.js";
import { button, copy, h, number, plural } from "./dom.js";
import { address, go } from "./state.js";
import { pathParts, shown, value, word } from "./text.js";
import { clock, day, full, offset, span } from "./times.js";

const AROUND = 100; // events shown before and after a step that is opened

/** Nodes for an answer of /v1/runs/ID. */
export function story(told) {
  const { run, steps } = told;
  const [first, last] = [new Date(run.first), new Date(run.last)];
  const gaps = steps.filter((step) => step.kind === "gap");
  return [
    h("h1", {}, "Run ", h("span", { class: "mono" }, shown(run.correlation_id)), " in ", ...value(run.sandbox ?? "-")),
    h("p", { class: "muted" }, `${full(first)} to ${day(first) === day(last) ? clock(last, true) : full(last)} (${span((last - first) * 1000)}) on ${shown(run.host)}`),
    h("p", {}, h("b", {}, plural(told.deny, "refusal")), `, ${number(told.allow)} allowed`, told.unknown ? `, ${number(told.unknown)} unknown` : "", told.secrets ? `, ${plural(told.secrets, "secret")} masked` : "",
      ...told.policies.map((one) => [" · policy ", one.policy_digest ? h("a", { href: address({ view: "policies", policy: one.policy_digest, run: "" }), on: { click: (event) => { event.preventDefault(); go({ view: "policies", policy: one.policy_digest, run: "" }); } } }, shown(one.policy)) : shown(one.policy)]).flat()),
    h("p", {}, told.complete ? "record complete: no gap in this window" : h("b", { class: "is-gap" }, gaps.length ? `record incomplete: ${plural(gaps.length, "gap")} in this window` : "record incomplete")),
    h("p", { class: "actions" },
      button("Its events", () => go({ view: "events", q: word("run", run.correlation_id), since: "all", until: "", run: "" })),
      button("Only refusals", () => go({ view: "events", q: `deny ${word("run", run.correlation_id)}`, since: "all", until: "", run: "" })),
      button("Copy audit policy suggest", () => copy(`audit policy suggest --run ${run.correlation_id}`), { title: "What would change the refusals" })),
    h("ol", { class: "story" }, steps.map(step)),
    told.more ? h("p", { class: "muted" }, "The story goes on; open its events for the rest.") : null,
    h("p", { class: "muted" }, `${clock(last, true)}${offset(last)}  last event`),
  ];
}

function step(one) {
  if (one.kind === "gap") return gapStep(one);
  const at = new Date(one.first);
  const isRefused = one.decision === "deny";
  return h("li", { class: `step is-${cells.style(one)}` },
    h("span", { class: "at muted" }, `${clock(at, true)}${offset(at)}`),
    h("div", { class: "told" },
      h("p", {}, isRefused ? h("b", { class: "verdict" }, "REFUSED ") : null, one.decision === "unknown" ? h("b", {}, "unknown ") : null, `${cells.process(one)} ${cells.access(one)} `, what(one)),
      isRefused ? rule(one) : null,
      one.reported_by?.length ? h("p", { class: "muted" }, `also reported by ${one.reported_by.map(shown).join(", ")}`) : null,
      one.secrets ? h("p", { class: "muted" }, `held ${plural(one.secrets, "secret")}, masked`, ...(one.masked ?? []).flatMap((mask) => [" ", ...value(mask)])) : null),
    h("span", { class: "seqs" }, seqs(one)));
}

function what(one) {
  if (one.files) return [`${plural(one.files, "file")} under `, h("span", { class: "mono" }, ...value(one.folder))];
  const text = cells.target(one);
  const [head, tail] = one.path === undefined ? ["", text] : pathParts(text);
  return [h("span", { class: "mono" }, ...value(head + tail)), one.times > 1 ? ` ${number(one.times)} times` : ""];
}

function rule(one) {
  return h("p", { class: "because mono" }, cells.rule(one), one.rule_line ? `, line ${one.rule_line}` : "", one.rule_text ? h("code", {}, `   ${shown(one.rule_text)}`) : null);
}

function seqs(one) {
  const open = button(String(one.first_seq), () => go({ view: "events", event: String(one.first_seq), since: "all", until: "", q: `seq:${Math.max(1, one.first_seq - AROUND)}:${one.last_seq + AROUND}`, run: "" }), { class: "link", title: "Open this event" });
  return one.first_seq === one.last_seq ? open : [open, ` to ${one.last_seq}`];
}

function gapStep(one) {
  const [from, to] = [new Date(one.first), one.until ? new Date(one.until) : null];
  return h("li", { class: "step is-gap" },
    h("span", { class: "at" }, `${clock(from, true)}${offset(from)}`),
    h("div", { class: "told" }, h("p", {}, h("b", {}, "gap "), `${to ? `to ${clock(to)}, ${span((to - from) * 1000)}` : "to now"}: ${shown(cells.gap(one))}`)),
    h("span", { class: "seqs" }));
}
