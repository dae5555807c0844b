// An empty list explains itself: a gap first, then the filter that emptied it, then a way out.
import { get } from "./api.js";
import { button, fill, h, number } from "./dom.js";
import { gap as gapText } from "./cells.js";
import { go, state } from "./state.js";
import { shown } from "./text.js";
import { full, rangeName } from "./times.js";

const MAX_TRIED = 4; // each asks a count; more would hold the service up

/** Fill `node`; the counts without each filter come after. */
export async function explainEmpty(node, question, gaps, signal) {
  const ways = h("dl", { class: "ways" });
  fill(node,
    gaps.length ? incomplete(gaps) : h("p", {}, h("b", {}, "No event matches"), `: ${rangeName(state).toLowerCase()}, and the record has no gap in that time.`),
    ways,
    h("p", { class: "actions" },
      state.q ? button("Clear the filter", () => go({ q: "" })) : null,
      state.since !== "all" ? button("Show all time", () => go({ since: "all", until: "" })) : null));
  node.hidden = false;
  try {
    await tryWithout(ways, question, signal);
    if (!ways.children.length && !state.q) await newest(ways, signal);
  } catch (error) {
    if (error.name !== "AbortError") ways.replaceChildren();
  }
}

function incomplete(gaps) {
  return h("div", {}, h("p", {}, h("b", {}, "No event found, but the record is incomplete"), ":"),
    h("ul", {}, gaps.slice(0, 5).map((gap) => h("li", {}, `${full(new Date(gap.first), false)} to ${gap.until ? full(new Date(gap.until), false) : "now"}: ${shown(gapText(gap))}`))));
}

async function tryWithout(ways, { filters, params }, signal) {
  // Only what a person chose; the zone goes along.
  const names = [...new Set(filters.map(([name]) => name)), ...(params.some(([name]) => name === "since" || name === "until") ? ["time"] : [])];
  if (names.length < 1) return;
  for (const name of names.slice(0, MAX_TRIED)) {
    const rest = params.filter(([one]) => (name === "time" ? one !== "since" && one !== "until" : one !== name));
    const { total } = await get("/v1/counts", [...rest, ["bucket", "day"]], signal);
    const found = total.allow + total.deny + (total.unknown ?? 0) + (total.other ?? 0);
    ways.append(h("dt", {}, name === "time" ? "at any time" : `without ${name}`), h("dd", {}, number(found)));
  }
}

async function newest(ways, signal) {
  const { events } = await get("/v1/events", { limit: 1, columns: "seq,ts" }, signal);
  if (events.length) ways.append(h("dt", {}, "newest event"), h("dd", {}, full(new Date(events[0].ts), false)));
  else ways.append(h("dt", {}, "Nothing was ever collected."), h("dd", {}, "audit setup, or audit collect FILE"));
}
