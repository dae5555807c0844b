// The status strip: is the record complete, who collects, how old is the newest event.
import { get } from "./api.js";
import { $, fill, h, plural } from "./dom.js";
import { address, go } from "./state.js";
import { shown } from "./text.js";
import { ago, clock, offset, onZone } from "./times.js";

const EVERY_MS = 15_000;
let told = null;
let newest = null; // Date of the newest event known
let stream = "";

/** A live event or the first page says how old the newest one is. */
export function noteEvent(ts) {
  const date = new Date(ts);
  if (!newest || date > newest) newest = date;
  age();
}

/** What the live stream does: "live", "waiting", "paused", "". */
export function noteStream(now) {
  stream = now;
  age();
}

function age() {
  const node = $("age");
  if (!node) return;
  const lost = stream === "waiting" ? " · stream lost, trying again" : "";
  node.textContent = (newest ? `last event ${ago(newest)} ago` : "no event yet") + lost;
}

const mark = (state) => h("span", { class: `mark is-${state}`, "aria-hidden": "true" });
const item = (state, name, text) => h("span", { class: "item" }, mark(state), h("span", { class: "muted" }, `${name} `), text);

function record({ gaps = [], verdict }) {
  const open = gaps.filter((gap) => !gap.until);
  if (open.length) {
    const { source, first, reason } = open[0];
    const since = new Date(first);
    const more = open.length > 1 ? `, and ${open.length - 1} more` : "";
    return item("bad", "record", h("span", {}, h("b", {}, "INCOMPLETE"), ` ${shown(source)} since ${clock(since)}${offset(since)}: ${shown(reason)}${more}`));
  }
  const text = (verdict ?? "").replace(/^so: /, "").replace(/^the record /, "");
  return item(gaps.length ? "warn" : "good", "record", shown(text || (gaps.length ? `${plural(gaps.length, "gap")} in the last 24 h` : "complete in the last 24 h")));
}

function draw() {
  if (!told) return;
  const { collector = {}, sources = [] } = told;
  const state = collector.state ?? "unknown";
  const good = ["healthy", "running"].includes(state);
  const well = sources.filter((source) => source.state === "healthy").length;
  fill(
    $("strip"),
    record(told),
    item(good ? "good" : "bad", "collector", good ? "running" : h("b", {}, shown(state))),
    sources.length ? item(well === sources.length ? "good" : "bad", "sources", well === sources.length ? `${well} healthy` : h("b", {}, `${well} of ${sources.length} healthy`)) : null,
    h("span", { class: "item", id: "age" }),
    h("a", { href: address({ view: "record" }), class: "more", on: { click: (event) => { event.preventDefault(); go({ view: "record" }); } } }, "Details"),
  );
  age();
}

/** Ask now. */
export async function refreshStrip() {
  try {
    told = await get("/v1/status");
    for (const { last_event_ts: ts } of told.sources ?? []) if (ts) noteEvent(ts);
    draw();
  } catch (error) {
    if (error.status === 401) return;
    fill($("strip"), item("bad", "service", h("span", {}, h("b", {}, "not answering"), ` ${shown(error.message)}`)));
  }
}

export function startStrip() {
  refreshStrip();
  setInterval(() => { if (!document.hidden) refreshStrip(); }, EVERY_MS);
  setInterval(age, 1000);
  onZone(draw);
}
