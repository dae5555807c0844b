// What was refused most: paths, destinations, processes, rules; a click narrows the filter.
import { narrow } from "./bar.js";
import { $, button, fill, h, number } from "./dom.js";
import { onChange } from "./state.js";
import { shown, value } from "./text.js";

// Column to ask for, its filter, heading.
const LISTS = [["path", "path", "Paths"], ["dst_host", "dst", "Destinations"], ["process", "process", "Processes"], ["policy_rule", "rule", "Rules"]];
export const TOP_BY = LISTS.map(([by]) => by);
const SHOWN = 6;

/** The filter parameters for the top lists: refusals, unless the filter itself names a decision. */
export function topParams(params) {
  const names = params.some(([name]) => name === "decision");
  return [...params, ...(names ? [] : [["decision", "deny"]]), ...TOP_BY.map((by) => ["by", by]), ["n", 10]];
}

export function showTops({ top }, params) {
  const chosen = params.filter(([name]) => name === "decision").map(([, one]) => one);
  const word = { "": "Most refused", deny: "Most refused", allow: "Most allowed" }[chosen.join()] ?? "Most frequent";
  fill($("tops"), head(word), LISTS.map(([by, filter, name]) => list(name, filter, top[by] ?? [])));
}

/** The lists cannot be told; say why in their place. */
export function failTops(error) {
  fill($("tops"), head("Most refused"), h("p", { class: "muted" }, shown(error.message)));
}

const close = () => document.body.classList.remove("has-tops");
const head = (text) => h("div", { class: "panel-head" }, h("h2", {}, text), button("Close", close, { class: "quiet close-tops" }));

/** On a narrow screen the lists lie over the page when asked for. */
export function startTops() {
  $("show-tops").addEventListener("click", () => {
    document.body.classList.add("has-tops");
    document.querySelector(".close-tops")?.focus();
  });
  onChange(close);
}

function list(name, filter, found) {
  const most = Math.max(1, ...found.map((one) => one.events));
  const items = found.slice(0, SHOWN).map((one) => line(filter, one, most));
  return h("section", { class: "top-list", "aria-label": `${name}` },
    h("h3", {}, name),
    items.length ? h("ol", {}, items) : h("p", { class: "muted" }, "none"));
}

function line(filter, one, most) {
  const text = String(one.value);
  const bar = h("span", { class: "share", "aria-hidden": "true" });
  bar.style.width = `${Math.max(1, (100 * one.events) / most)}%`;
  const known = !text.startsWith("("); // (seatbelt): no rule is known, so none can be asked for
  return h("li", {}, bar,
    known
      ? h("button", { type: "button", class: "pick", title: shown(text), on: { click: () => narrow(filter, text) } }, h("span", { class: "what" }, h("bdi", {}, ...value(text))), h("span", { class: "count" }, number(one.events)))
      : h("span", { class: "pick" }, h("span", { class: "what" }, ...value(text)), h("span", { class: "count" }, number(one.events))),
    known && button("not", () => narrow(filter, text, true), { class: "not", "aria-label": `Leave out ${shown(text)}`, title: "Leave this out" }));
}
