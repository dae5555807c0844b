// One event: every field, the rule's lines as they were, why, what would change it, what stood around it.
import { get } from "./api.js";
import { narrow } from "./bar.js";
import * as cells from "./cells.js";
import { $, button, copy, fill, h, number } from "./dom.js";
import { go } from "./state.js";
import { value } from "./text.js";
import { full, isUtc, span } from "./times.js";
import { explained } from "./explained.js";
import { neighbours } from "./neighbours.js";

// Filters by column: a click on such a field narrows.
const FILTER_OF = {
  decision: "decision", sandbox: "sandbox", correlation_id: "run", host: "host", path: "path", path_to: "path", dst: "dst", dst_host: "dst",
  target: "target", policy_rule: "rule", access: "access", resource: "resource", syscall: "syscall", process: "process", pid: "pid",
  policy: "policy", enforcer: "enforcer", tool: "tool", outcome: "outcome", source: "source", kind: "kind",
};
const TIMES = ["ts", "observed_at", "until"];

let asked = 0;
let around = 10;

/** Open the panel for an id or seq; resolves when it stands. `onPick(seq)` for a neighbour. */
export async function showPanel(id, onPick, signal) {
  const turn = (asked += 1);
  const panel = $("panel");
  panel.hidden = false;
  $("tops").hidden = true;
  document.body.classList.add("has-panel");
  panel.setAttribute("aria-busy", "true");
  if (!panel.firstChild) fill(panel, h("p", { class: "muted" }, "Asking …"));
  const beside = get(`/v1/events/${encodeURIComponent(id)}/neighbours`, { count: around, same_run: true }, signal).catch((error) => error);
  try {
    const answer = await get(`/v1/events/${encodeURIComponent(id)}`, {}, signal);
    if (turn === asked) draw(panel, answer, id, onPick, beside);
  } catch (error) {
    if (error.name === "AbortError" || turn !== asked) return;
    fill(panel, head(h("h2", {}, `Event ${id}`)), h("p", { class: "is-error" }, value(error.message)), error.hint ? h("p", { class: "muted" }, value(error.hint)) : null);
  } finally {
    if (turn === asked) panel.removeAttribute("aria-busy");
  }
}

export function hidePanel() {
  asked += 1;
  document.body.classList.remove("has-panel");
  $("panel").hidden = true;
  fill($("panel"));
  $("tops").hidden = false;
}

const close = () => go({ event: "" });
const head = (...title) => h("div", { class: "panel-head" }, ...title, button("Close", close, { class: "quiet", title: "Esc" }));

function draw(panel, { event, reports = [], explanation }, id, onPick, beside) {
  const near = h("div", {}, h("p", { class: "muted" }, "Asking …"));
  fill(
    panel,
    head(h("h2", { class: `is-${cells.style(event)}` }, h("span", { class: "verdict" }, cells.decision(event)), " ", cells.access(event), " ", h("span", { class: "mono" }, ...value(cells.target(event))))),
    who(event),
    h("p", { class: "actions" },
      button("Copy audit explain", () => copy(`audit explain ${event.seq}`), { title: `audit explain ${event.seq}` }),
      button("Copy link", () => copy(location.href), { title: "A link to this event with this filter; it holds no secret" })),
    explained(event, explanation),
    reports.length || event.linked_seq ? linked(event, reports, onPick) : null,
    h("section", {}, h("h3", {}, "Around it in the run"), near),
    fields(event),
  );
  panel.scrollTop = 0;
  beside.then((answer) => { if (panel.contains(near)) neighbours(near, answer, event, onPick, { around, more: (count) => { around = count; showPanel(id, onPick); } }); });
}

function who(event) {
  const date = new Date(event.ts);
  const run = cells.run(event.correlation_id);
  return h("div", { class: "who" },
    h("p", {},
      cells.process(event) ? ["by ", h("b", {}, cells.process(event))] : null,
      cells.sandbox(event) ? [" in ", h("b", {}, cells.sandbox(event))] : null,
      run ? [", run ", h("a", { href: "#", on: { click: (click) => { click.preventDefault(); go({ view: "runs", run: event.correlation_id, event: "" }); } } }, run)] : null),
    h("p", { class: "muted" }, full(date), isUtc() ? "" : ` (${event.ts.slice(11, 23)}Z)`,
      event.latency_us === undefined ? "" : `, in ${span(event.latency_us)}`, event.enforcer ? [", by ", ...value(event.enforcer)] : ""));
}

function linked(event, reports, onPick) {
  const told = event.link === "report" ? "This is the operating system's report of event " : "Further occurrences of event ";
  return h("section", {}, h("h3", {}, "Linked"),
    event.linked_seq ? h("p", {}, told, button(String(event.linked_seq), () => onPick(event.linked_seq), { class: "link" })) : null,
    reports.map((row) => h("p", {}, row.link === "repeat" ? `Again, ${number(row.count)} times, in event ` : `${cells.process(row) ? "" : ""}The operating system reported it too: `,
      button(String(row.seq), () => onPick(row.seq), { class: "link" }), row.enforcer ? [" ", ...value(row.enforcer)] : null, row.message ? [": ", ...value(row.message)] : null)));
}

function fields(event) {
  const rows = Object.entries(event).filter(([, one]) => one !== null);
  return h("section", {}, h("h3", {}, "All fields"), h("dl", { class: "fields" }, rows.map(([name, one]) => {
    const text = TIMES.includes(name) ? full(new Date(one)) : String(one);
    const filter = FILTER_OF[name];
    return [
      h("dt", {}, name),
      h("dd", { class: "mono" }, h("bdi", {}, ...value(text)), filter ? h("span", { class: "narrow" },
        button("only", () => narrow(filter, text), { class: "link", "aria-label": `Only ${name} of this value` }),
        button("not", () => narrow(filter, text, true), { class: "link", "aria-label": `Leave out ${name} of this value` })) : null),
    ];
  }).flat()));
}
