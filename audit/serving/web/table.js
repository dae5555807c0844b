// The event list: only the rows in sight are elements, so that 100,000 scroll like 100.
import * as cells from "./cells.js";
import { $, fill, h } from "./dom.js";
import { value } from "./text.js";
import { clock, day, full, zoneName } from "./times.js";
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "./vendor/virtual-core.js";

const COLUMNS = ["time", "decision", "sandbox", "run", "process", "what", "target", "rule", "seq"];
const OVERSCAN = 12;
const NEAR_END = 100; // rows left below when the next page is asked for

export class Table {
  #rows;
  #on;
  #grid = $("grid");
  #sheet = $("grid").firstElementChild;
  #pool = new Map(); // index -> element
  #free = [];
  #virtual;
  selected = null;

  /** `on`: open(seq), move(seq), nearEnd(), close(). */
  constructor(rows, on) {
    this.#rows = rows;
    this.#on = on;
    this.#virtual = new Virtualizer(this.#options());
    this.#virtual._didMount();
    this.#virtual._willUpdate();
    this.#heads();
    this.#grid.addEventListener("keydown", (event) => this.#key(event));
    this.#grid.addEventListener("click", (event) => this.#click(event));
    for (const media of ["(max-width: 44rem)"]) matchMedia(media).addEventListener("change", () => this.#remeasure());
  }

  #options() {
    return {
      count: this.#rows.items.length,
      getScrollElement: () => this.#grid,
      estimateSize: rowHeight,
      overscan: OVERSCAN,
      scrollToFn: elementScroll,
      observeElementRect,
      observeElementOffset,
      onChange: () => this.#paint(),
    };
  }

  #heads() {
    const names = { time: `Time ${zoneName()}`, decision: "Dec", what: "What", seq: "Seq" };
    fill($("cols"), COLUMNS.map((name) => h("span", { class: `c-${name}` }, names[name] ?? name[0].toUpperCase() + name.slice(1))));
  }

  /** Show what the rows hold now; `shift` rows were put on top while somebody reads further down. */
  refresh({ top = false, shift = 0 } = {}) {
    this.#recycleAll();
    this.#virtual.setOptions(this.#options());
    this.#virtual._willUpdate();
    this.#virtual.measure();
    this.#grid.setAttribute("aria-rowcount", this.#rows.more ? "-1" : String(this.#rows.items.length));
    if (top) this.#grid.scrollTop = 0;
    else if (shift) this.#grid.scrollTop += shift * rowHeight();
    this.#paint();
  }

  /** Times are written anew (zone), keeping the place. */
  rezone() {
    this.#heads();
    this.refresh();
  }

  get isAtTop() {
    return this.#grid.scrollTop < rowHeight();
  }

  focus() {
    this.#grid.focus({ preventScroll: true });
  }

  #remeasure() {
    this.#virtual.measure();
    this.refresh();
  }

  #recycleAll() {
    for (const node of this.#pool.values()) this.#free.push(node);
    this.#pool.clear();
  }

  #paint() {
    const items = this.#virtual.getVirtualItems();
    this.#sheet.style.height = `${this.#virtual.getTotalSize()}px`;
    const wanted = new Set(items.map((item) => item.index));
    for (const [index, node] of this.#pool) {
      if (wanted.has(index)) continue;
      this.#pool.delete(index);
      this.#free.push(node);
    }
    for (const item of items) this.#place(item);
    for (const node of this.#free) node.hidden = true;
    this.#activate();
    const last = items.at(-1);
    if (last && last.index > this.#rows.items.length - NEAR_END) this.#on.nearEnd();
  }

  #place({ index, start }) {
    const row = this.#rows.items[index];
    if (!row) return;
    let node = this.#pool.get(index);
    if (!node) {
      node = this.#free.pop() ?? this.#sheet.appendChild(blankRow());
      this.#pool.set(index, node);
      node.hidden = false;
      node.style.transform = `translateY(${start}px)`;
      fillRow(node, row, index);
    }
    node.setAttribute("aria-selected", String(row.seq === this.selected));
  }

  #activate() {
    const id = `row-${this.selected}`;
    if (this.selected !== null && this.#sheet.querySelector(`#${id}:not([hidden])`)) this.#grid.setAttribute("aria-activedescendant", id);
    else this.#grid.removeAttribute("aria-activedescendant");
  }

  /** Mark a row; it comes into sight unless `still`. */
  select(seq, { still = false } = {}) {
    this.selected = seq;
    const index = seq === null ? -1 : this.#rows.indexOf(seq);
    if (index >= 0 && !still) this.#virtual.scrollToIndex(index, { align: "auto" });
    for (const [at, node] of this.#pool) node.setAttribute("aria-selected", String(this.#rows.items[at]?.seq === seq));
    this.#activate();
  }

  /** Move the mark by `steps` rows, or to the first one in sight. */
  move(steps) {
    const { items } = this.#rows;
    if (!items.length) return;
    const at = this.selected === null ? -1 : this.#rows.indexOf(this.selected);
    const from = at >= 0 ? at : Math.abs(steps) < items.length ? this.#firstInSight() - steps : 0;
    const to = Math.min(items.length - 1, Math.max(0, from + steps));
    this.select(items[to].seq);
    this.#on.move(items[to].seq);
  }

  #firstInSight() {
    return Math.min(this.#rows.items.length - 1, Math.ceil(this.#grid.scrollTop / rowHeight()));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / rowHeight()) - 1);
    const far = this.#rows.items.length;
    const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -far, End: far }[event.key];
    if (steps !== undefined) this.move(steps);
    else if (event.key === "Enter" && this.selected !== null) this.#on.open(this.selected);
    else if (event.key === "Escape") this.#on.close();
    else return;
    event.preventDefault();
  }

  #click(event) {
    const node = event.target.closest(".row");
    if (!node || !getSelection().isCollapsed) return;
    this.select(node.seq, { still: true });
    this.#on.open(node.seq);
  }
}

/** Pixels; two lines on a narrow screen. Follows the reader's letter size. */
function rowHeight() {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.round(rem * (matchMedia("(max-width: 44rem)").matches ? 3.25 : 1.625));
}

function blankRow() {
  return h("div", { class: "row", role: "row" }, COLUMNS.map((name) => h("span", { class: `c-${name}`, role: "gridcell" })));
}

function fillRow(node, row, index) {
  const [time, decision, sandbox, run, process, what, target, rule, seq] = node.children;
  const date = new Date(row.ts);
  node.id = `row-${row.seq}`;
  node.seq = row.seq;
  node.className = `row is-${cells.style(row)}`;
  node.style.height = `${rowHeight()}px`;
  node.setAttribute("aria-rowindex", String(index + 1));
  time.title = full(date);
  const at = clock(date, true);
  fill(time, day(date) === today() ? null : h("span", { class: "day" }, `${day(date).slice(5)} `), at.slice(0, 8), h("span", { class: "ms" }, at.slice(8)));
  decision.textContent = cells.decision(row);
  sandbox.textContent = cells.sandbox(row);
  run.textContent = cells.run(row.correlation_id);
  process.textContent = cells.process(row);
  what.textContent = cells.access(row);
  fill(target, cells.targetNodes(row));
  fill(rule, value(cells.rule(row)));
  seq.textContent = row.seq;
}

let todayText = "";
let todayAsked = -Infinity;
function today() {
  // Asked for each row while scrolling: looked up once a second.
  if (performance.now() - todayAsked > 1000) [todayText, todayAsked] = [day(new Date()), performance.now()];
  return todayText;
}
