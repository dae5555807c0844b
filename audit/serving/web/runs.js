// Runs and sandboxes: what ran, and what was refused in it; one run opens as a story.
import { get } from "./api.js";
import * as cells from "./cells.js";
import { button, fill, h, number, plural } from "./dom.js";
import { address, go } from "./state.js";
import { story } from "./story.js";
import { shown, value, word } from "./text.js";
import { ago, brief, full, span } from "./times.js";

const NEWEST = 100;
let asked = 0;

export async function show(node, state) {
  const turn = (asked += 1);
  node.setAttribute("aria-busy", "true");
  if (!node.firstChild) fill(node, h("p", { class: "muted" }, "Asking …"));
  try {
    if (state.run) {
      const answer = await get(`/v1/runs/${encodeURIComponent(state.run)}`);
      if (turn === asked) fill(node, back(), ...story(answer));
    } else {
      const [runs, sandboxes] = await Promise.all([get("/v1/runs", { limit: NEWEST }), get("/v1/sandboxes")]);
      if (turn === asked) fill(node, ...lists(runs, sandboxes));
    }
  } catch (error) {
    if (turn === asked) fill(node, state.run ? back() : null, h("p", { class: "is-error" }, shown(error.message)), error.hint ? h("p", { class: "muted" }, shown(error.hint)) : null);
  } finally {
    if (turn === asked) node.removeAttribute("aria-busy");
  }
}

const link = (text, patch, props = {}) => h("a", { href: address(patch), on: { click: (event) => { event.preventDefault(); go(patch); } }, ...props }, text);
const back = () => h("p", {}, link("All runs", { run: "" }));

function lists(runs, sandboxes) {
  const found = runs.runs ?? [];
  return [
    h("h1", {}, "Runs"),
    found.length
      ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }, h("table", { class: "data" },
        h("thead", {}, h("tr", {}, ["Run", "Sandbox", "Started", "Lasted", "Allow", "Deny", "Most refused", "Record"].map((name) => h("th", { scope: "col", class: ["Allow", "Deny"].includes(name) ? "num" : "" }, name)))),
        h("tbody", {}, found.map(runRow))))
      : h("p", { class: "muted" }, "No run is on record."),
    h("p", { class: "muted" }, runs.more ? `The newest ${number(found.length)} runs.` : plural(found.length, "run")),
    h("h2", {}, "Sandboxes"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sandboxes" }, h("table", { class: "data" },
      h("thead", {}, h("tr", {}, ["Sandbox", "Newest event", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, (sandboxes.sandboxes ?? []).map(sandboxRow)))),
  ];
}

function runRow(run) {
  const [first, last] = [new Date(run.first), new Date(run.last)];
  return h("tr", {},
    h("td", { class: "mono" }, link(cells.run(run.correlation_id) || "-", { run: run.correlation_id })),
    h("td", {}, ...value(run.sandbox ?? "-")),
    h("td", { title: full(first) }, brief(first)),
    h("td", {}, run.live ? "live" : span((last - first) * 1000)),
    h("td", { class: "num" }, number(run.allow)),
    h("td", { class: "num" }, run.deny ? h("b", { class: "is-deny" }, number(run.deny)) : "0"),
    h("td", { class: "mono" }, ...value(run.most_refused ?? "-")),
    h("td", {}, run.gaps ? h("span", { class: "is-gap" }, plural(run.gaps, "gap")) : "no gap"));
}

function sandboxRow(one) {
  const name = one.sandbox ?? one.name;
  const last = one.last ?? one.last_ts;
  return h("tr", {},
    h("td", {}, ...value(name)),
    h("td", { title: last ? full(new Date(last)) : "" }, last ? `${ago(new Date(last))} ago` : "-"),
    h("td", {}, button("Refused in it", () => go({ view: "events", q: `deny ${word("sandbox", name)}`, run: "" }), { class: "link", "aria-label": `Refused in ${shown(name)}` })));
}
