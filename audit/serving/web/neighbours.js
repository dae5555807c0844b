// The events of the same run just before and after one, gaps between them in place.
import * as cells from "./cells.js";
import { button, fill, h } from "./dom.js";
import { shown, value } from "./text.js";
import { clock, offset, span } from "./times.js";

const STEPS = [10, 50, 200];

/** Fill `node` with an answer (or an error); `more(count)` asks for a wider stretch. */
export function neighbours(node, answer, event, onPick, { around, more }) {
  if (answer instanceof Error) {
    if (answer.name !== "AbortError") fill(node, h("p", { class: "is-error" }, shown(answer.message)));
    return;
  }
  const base = Date.parse(event.ts);
  const rows = [...answer.events.map((row) => ({ at: row.ts, row })), ...(answer.gaps ?? []).map((gap) => ({ at: gap.first, gap }))].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : (a.row?.seq ?? 0) - (b.row?.seq ?? 0)));
  fill(node,
    h("ol", { class: "near" }, rows.map(({ row, gap }) => (gap ? gapLine(gap) : line(row, row.seq === event.seq, base, onPick)))),
    h("p", { class: "actions" }, STEPS.map((count) => button(`±${count}`, () => more(count), { "aria-pressed": String(count === around), "aria-label": `${count} events before and after` }))));
}

function line(row, isSelf, base, onPick) {
  const apart = (Date.parse(row.ts) - base) * 1000;
  const when = isSelf ? "here" : `${apart < 0 ? "−" : "+"}${span(Math.abs(apart))}`;
  const texts = [
    h("span", { class: "muted apart" }, when), h("span", { class: "verdict" }, cells.decision(row)),
    h("span", { class: "doing" }, h("span", { class: "muted" }, `${cells.process(row)} ${cells.access(row)} `), h("bdi", { class: "mono" }, ...value(cells.target(row)))),
  ];
  return h("li", { class: `is-${cells.style(row)}${isSelf ? " is-self" : ""}` },
    isSelf ? h("span", { class: "pick", "aria-current": "true" }, texts) : h("button", { type: "button", class: "pick", title: shown(cells.target(row)), on: { click: () => onPick(row.seq) } }, texts));
}

function gapLine(gap) {
  const [from, to] = [new Date(gap.first), gap.until ? new Date(gap.until) : null];
  return h("li", { class: "is-gap" }, h("span", { class: "pick" }, h("span", { class: "verdict" }, "gap"), h("span", { class: "doing" }, `${clock(from)}${offset(from)} to ${to ? clock(to) : "now"} ${shown(cells.gap(gap))}`)));
}
