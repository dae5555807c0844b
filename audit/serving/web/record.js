// Is anything missing? Collector, sources, completeness and every gap with its reason.
import { get } from "./api.js";
import { gap as gapText } from "./cells.js";
import { button, fill, h, number, plural } from "./dom.js";
import { go } from "./state.js";
import { shown, value } from "./text.js";
import { brief, full, span } from "./times.js";

let asked = 0;

export async function show(node) {
  const turn = (asked += 1);
  if (!node.firstChild) fill(node, h("p", { class: "muted" }, "Asking …"));
  try {
    const [status, gaps] = await Promise.all([get("/v1/status"), get("/v1/gaps", { since: "7d" })]);
    if (turn === asked) fill(node, h("h1", {}, "Record"), verdict(status, gaps.gaps), h("h2", {}, "Sources"), sources(status.sources ?? []), h("h2", {}, "Gaps of the last 7 days"), list(gaps.gaps), rest(status));
  } catch (error) {
    if (turn === asked) fill(node, h("h1", {}, "Record"), h("p", { class: "is-error" }, shown(error.message)), error.hint ? h("p", { class: "muted" }, shown(error.hint)) : null);
  }
}

function verdict(status, gaps) {
  const open = gaps.filter((gap) => !gap.until);
  if (open.length) return h("p", { class: "lead" }, h("b", { class: "is-gap" }, "INCOMPLETE"), ` now: ${open.map((gap) => shown(gapText(gap))).join(" · ")}`);
  return h("p", { class: "lead" }, gaps.length ? `Complete now; ${plural(gaps.length, "gap")} in the last 7 days.` : "Complete: no gap in the last 7 days.");
}

function sources(found) {
  if (!found.length) return h("p", { class: "muted" }, "No source is known; audit setup finds the logs of this machine.");
  return h("table", { class: "data" }, h("tbody", {}, found.map((source) => h("tr", {},
    h("th", { scope: "row" }, ...value(source.name)),
    h("td", {}, source.state === "healthy" ? "healthy" : h("b", { class: "is-gap" }, shown(source.state ?? "unknown"))),
    h("td", { class: "muted" }, Object.entries(source).filter(([name, one]) => !["name", "state"].includes(name) && one !== null && typeof one !== "object").map(([name, one]) => `${name.replaceAll("_", " ")} ${told(one)}`).join(" · "))))));
}

const told = (one) => (typeof one === "string" && /^\d{4}-\d\d-\d\dT.*Z$/.test(one) ? full(new Date(one), false) : typeof one === "number" ? number(one) : shown(one));

function list(gaps) {
  if (!gaps.length) return h("p", { class: "muted" }, "None.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gaps" }, h("table", { class: "data" },
    h("thead", {}, h("tr", {}, ["From", "To", "Lasted", "Source", "Lost", "Why", ""].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, [...gaps].reverse().map((gap) => {
      const [from, to] = [new Date(gap.first), gap.until ? new Date(gap.until) : null];
      const wide = Math.max(60_000, ((to ?? new Date()) - from) / 2);
      return h("tr", {}, h("td", { title: full(from) }, brief(from)), h("td", {}, to ? brief(to) : h("b", { class: "is-gap" }, "now")), h("td", {}, span(((to ?? Date.now()) - from) * 1000)),
        h("td", {}, ...value(gap.source)), h("td", { class: "num" }, gap.count === undefined || gap.count === null ? "?" : number(gap.count)), h("td", {}, ...value(gap.reason)),
        h("td", {}, button("Events around it", () => go({ view: "events", q: "", since: new Date(from - wide).toISOString(), until: to ? new Date(+to + wide).toISOString() : "" }), { class: "link" })));
    }))));
}

function rest(status) {
  const parts = Object.entries(status).filter(([name, one]) => !["sources", "gaps", "host", "store"].includes(name) && one !== null && typeof one === "object" && !Array.isArray(one));
  return parts.map(([name, one]) => h("section", {}, h("h2", {}, name[0].toUpperCase() + name.slice(1).replaceAll("_", " ")),
    h("dl", { class: "fields" }, Object.entries(one).filter(([, value_]) => value_ !== null && typeof value_ !== "object").map(([key, value_]) => [h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, told(value_))]).flat())));
}
