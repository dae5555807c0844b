// Is anything missing? Collector, sources, completeness and every gap with its reason.
import { get } from "./api.js";
import { gap as gapText } from "./cells.js";
import { button, fill, h, number, plural } from "./dom.js";
import { go } from "./state.js";
import { shown, value } from "./text.js";
import { ago, brief, full, span } from "./times.js";

let asked = 0;

export async function show(node) {
  const turn = (asked += 1);
  if (!node.firstChild) fill(node, h("p", { class: "muted" }, "Asking …"));
  try {
    const [status, gaps] = await Promise.all([get("/v1/status"), get("/v1/gaps", { since: "7d" })]);
    if (turn === asked) fill(node, h("h1", {}, "Record"), verdict(status, gaps.gaps), h("h2", {}, "Sources"), sources(status.sources ?? []), h("h2", {}, "Gaps of the last 7 days"), list(gaps.gaps), ...rest(status));
  } catch (error) {
    if (turn === asked) fill(node, h("h1", {}, "Record"), h("p", { class: "is-error" }, shown(error.message)), error.hint ? h("p", { class: "muted" }, shown(error.hint)) : null);
  }
}

function verdict(status, gaps) {
  if (status.verdict) return h("p", { class: "lead" }, shown(status.verdict).replace(/^so: (.)/, (_all, letter) => letter.toUpperCase()));
  const open = gaps.filter((gap) => !gap.until);
  if (open.length) return h("p", { class: "lead" }, h("b", { class: "is-gap" }, "INCOMPLETE"), ` now: ${open.map((gap) => shown(gapText(gap))).join(" · ")}`);
  return h("p", { class: "lead" }, gaps.length ? `Complete now; ${plural(gaps.length, "gap")} in the last 7 days.` : "Complete: no gap in the last 7 days.");
}

function sources(found) {
  if (!found.length) return h("p", { class: "muted" }, "No source is known; audit setup finds the logs of this machine.");
  return scroll("Sources", ["Source", "State", "Stored today", "Last read", "Last event", "Where", "Note"], found.map((source) => h("tr", {},
    h("th", { scope: "row" }, ...value(source.name)),
    h("td", {}, source.state === "healthy" ? "healthy" : h("b", { class: "is-gap" }, shown(source.state ?? "unknown"))),
    h("td", { class: "num" }, source.stored_today === undefined ? "" : number(source.stored_today)),
    h("td", {}, source.last_read_at ? `${ago(new Date(source.last_read_at))} ago` : ""),
    h("td", { title: source.last_event_ts ? full(new Date(source.last_event_ts)) : "" }, source.last_event_ts ? `${ago(new Date(source.last_event_ts))} ago` : ""),
    h("td", { class: "mono" }, ...value(source.location ?? "")),
    h("td", {}, ...value(source.note ?? ""), source.behind_bytes ? ` ${size(source.behind_bytes)} behind` : ""))));
}

const NUMBERS = ["Stored today", "Lost"];
const scroll = (name, heads, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, h("table", { class: "data" },
  h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col", class: NUMBERS.includes(text) ? "num" : "" }, text)))), h("tbody", {}, rows)));

/** `151 MB`, decimal. */
function size(bytes) {
  const step = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, unit]) => bytes >= unit);
  return step ? `${number(Math.round(bytes / step[1]))} ${step[0]}` : `${bytes} B`;
}

function list(gaps) {
  if (!gaps.length) return h("p", { class: "muted" }, "None.");
  return scroll("Gaps", ["From", "To", "Lasted", "Source", "Lost", "Why", ""], [...gaps].reverse().map((gap) => {
    const [from, to] = [new Date(gap.first), gap.until ? new Date(gap.until) : null];
    const wide = Math.max(60_000, ((to ?? new Date()) - from) / 2);
    const around = () => go({ view: "events", q: "", since: new Date(from - wide).toISOString(), until: to ? new Date(+to + wide).toISOString() : "" });
    return h("tr", {}, h("td", { title: full(from) }, brief(from)), h("td", {}, to ? brief(to) : h("b", { class: "is-gap" }, "now")), h("td", {}, span(((to ?? Date.now()) - from) * 1000)),
      h("td", {}, ...value(gap.source)), h("td", { class: "num" }, gap.count === undefined || gap.count === null ? "?" : number(gap.count)), h("td", {}, ...value(gap.reason)),
      h("td", {}, button("Events around it", around, { class: "link" })));
  }));
}

/** Of counts by reason. */
const sum = (counts) => Object.values(counts ?? {}).reduce((all, one) => all + one, 0);

// In the words of `audit status`; what a scope may not know is left out.
function rest({ collector = {}, waiting, archive, completeness, exports = [], version }) {
  const lines = [
    ["Collector", `${shown(collector.state ?? "unknown")}${collector.pid ? `, pid ${collector.pid}` : ""}${collector.started ? `, since ${full(new Date(collector.started), false)}` : ""}`],
    waiting && ["Buffer", `${plural(waiting.events, "event")} not yet in the archive`],
    archive && ["Archive", `${plural(archive.days, "day")}, ${plural(archive.events, "event")}, ${size(archive.bytes)}; disk ${size(archive.disk_free)} free`],
    completeness && ["Last 24 hours", `${number(completeness.seen)} lines read = ${number(completeness.stored)} stored + ${number(sum(completeness.rejected))} rejected + ${number(sum(completeness.filtered))} filtered: ${completeness.balances ? "balances" : "DOES NOT BALANCE"}`],
    ...exports.map((one) => [`Export ${shown(one.name)}`, `up to seq ${number(one.seq)}, ${brief(new Date(one.updated_at))}`]),
    ["Version", shown(version ?? "")],
  ].filter(Boolean);
  return [h("h2", {}, "Store"), h("dl", { class: "fields" }, lines.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]).flat())];
}
