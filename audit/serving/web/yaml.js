// A policy's text with line numbers, marked lines, and what a line was worth.
import { h } from "./dom.js";
import { shown } from "./text.js";

/** `lines` from `first`; `marked(number)` is true for the line that decided; `beside(number)` nodes. */
export function yaml(lines, first, marked, beside = null) {
  return h("ol", { class: `yaml mono${beside ? " has-hits" : ""}` }, lines.map((text, index) => {
    const number = first + index;
    const isMarked = marked(number);
    return h("li", { class: isMarked ? "is-marked" : "", ...(isMarked ? { "aria-current": "true" } : {}) },
      beside && h("span", { class: "beside" }, beside(number)),
      h("span", { class: "sign", "aria-hidden": "true" }, isMarked ? ">" : ""),
      h("span", { class: "number" }, String(number)),
      h("code", {}, shown(text) || " "));
  }));
}
