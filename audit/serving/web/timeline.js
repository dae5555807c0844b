// The timeline: refusals at the foot of each bar, what was allowed above, gaps hatched; brush to zoom.
import { $, number } from "./dom.js";
import { onZone } from "./times.js";
import { Buckets } from "./buckets.js";
import { axes, drawBars, hatchGaps, washGaps } from "./timeline_draw.js";
import { shown } from "./text.js";
import { clock, day, isUtc, offset } from "./times.js";
import uPlot from "./vendor/uplot.js";

const MIN_BRUSH_PX = 6;

export class Timeline {
  #box = $("chart");
  #readout = $("readout");
  #plot = null;
  #buckets = new Buckets();
  #gaps = [];
  #at = null; // bucket under the cursor or the arrow keys
  #mark = null; // where a selection by keys began
  #shows = { deny: true, allow: true };
  #onZoom;
  #dirty = 0;

  /** `onZoom(from, to)` in ms; `onWiden()`. */
  constructor({ onZoom, onWiden }) {
    this.#onZoom = onZoom;
    new ResizeObserver(() => this.#resize()).observe(this.#box);
    this.#box.addEventListener("keydown", (event) => this.#key(event, onWiden));
    // Spoken while somebody walks through the bars; live counts would never be silent.
    this.#box.addEventListener("focus", () => this.#readout.setAttribute("aria-live", "polite"));
    this.#box.addEventListener("blur", () => {
      this.#readout.removeAttribute("aria-live");
      this.#hover(null);
    });
    $("zoom-out").addEventListener("click", onWiden);
    for (const name of ["deny", "allow"]) $(`key-${name}`).addEventListener("click", () => this.#toggle(name));
    onZone(() => this.#build());
    addEventListener("theme", () => this.redraw());
  }

  /** Draw the counts of a window. */
  show(counts, gaps, bounds) {
    this.#buckets = Buckets.of(counts, bounds);
    this.#gaps = gaps;
    this.#at = this.#mark = null;
    this.#build();
    this.#tell();
  }

  /** The counts could not be told: the frame and the gaps stay, and why. */
  fail(error, gaps) {
    this.#buckets = new Buckets();
    this.#gaps = gaps;
    this.#build();
    this.#readout.textContent = `no counts: ${shown(error.message)}`;
  }

  /** A live event; drawn with others at most twice a second. */
  add(row) {
    if (!this.#buckets.add(row)) return;
    this.#dirty ||= setTimeout(() => {
      this.#dirty = 0;
      this.#plot?.setData(this.#data());
      if (this.#at === null) this.#tell();
    }, 500);
  }

  /** The window goes on with the clock. */
  slide(now) {
    if (this.#buckets.slide(now)) this.#plot?.setData(this.#data());
  }

  addGap(gap) {
    this.#gaps = [...this.#gaps, gap];
    this.redraw();
  }

  redraw() {
    this.#plot?.redraw(false, true);
  }

  get total() {
    return this.#buckets.total;
  }

  #data() {
    return [this.#buckets.starts, this.#buckets.heights(this.#shows)];
  }

  #toggle(name) {
    const other = name === "deny" ? "allow" : "deny";
    this.#shows[name] = !this.#shows[name];
    if (!this.#shows[name] && !this.#shows[other]) this.#shows[other] = true;
    for (const one of ["deny", "allow"]) $(`key-${one}`).setAttribute("aria-pressed", String(this.#shows[one]));
    this.#plot?.setData(this.#data());
  }

  #build() {
    this.#plot?.destroy();
    const { clientWidth: width, clientHeight: height } = this.#box;
    if (!width) return;
    this.#plot = new uPlot({
      width, height, padding: [8, 20, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
      select: { show: true, left: 0, top: 0, width: 0, height: 0 },
      tzDate: (seconds) => (isUtc() ? uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") : new Date(seconds * 1000)),
      scales: {
        x: { time: true, range: () => [this.#buckets.from, this.#buckets.to] },
        y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1) * 1.08] },
      },
      axes: axes(),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        drawClear: [(plot) => washGaps(plot, this.#gaps)],
        draw: [(plot) => drawBars(plot, this.#buckets, this.#shows, this.#at), (plot) => hatchGaps(plot, this.#gaps)],
      },
    }, this.#data(), this.#box);
    this.#brush(this.#plot);
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#box;
    if (!this.#plot) this.#build();
    else if (width && (width !== this.#plot.width || height !== this.#plot.height)) this.#plot.setSize({ width, height });
  }

  // Pointer events, so that a finger brushes like a mouse.
  #brush(plot) {
    const { over } = plot;
    let from = null;
    const place = (event) => Math.min(over.clientWidth, Math.max(0, event.clientX - over.getBoundingClientRect().left));
    const draw = (a, b) => plot.setSelect({ left: Math.min(a, b), top: 0, width: Math.abs(a - b), height: over.clientHeight }, false);
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = place(event);
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      this.#hover(this.#buckets.indexAt(plot.posToVal(place(event), "x")));
      if (from !== null) draw(from, place(event));
    });
    over.addEventListener("pointerleave", () => { if (from === null) this.#hover(null); });
    over.addEventListener("pointercancel", () => { from = null; draw(0, 0); });
    over.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [a, b] = [Math.min(from, place(event)), Math.max(from, place(event))];
      from = null;
      draw(0, 0);
      if (b - a >= MIN_BRUSH_PX) this.#onZoom(plot.posToVal(a, "x") * 1000, plot.posToVal(b, "x") * 1000);
    });
    over.addEventListener("dblclick", () => this.#zoomTo(this.#at, this.#at));
  }

  #zoomTo(first, last) {
    if (first === null || !this.#buckets.size) return;
    const { starts, size } = this.#buckets;
    const [a, b] = [Math.min(first, last), Math.max(first, last)];
    this.#onZoom(starts[a] * 1000, (starts[b] + size) * 1000);
  }

  #key(event, onWiden) {
    const end = this.#buckets.starts.length - 1;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -end, End: end }[event.key];
    if (steps !== undefined && end >= 0) {
      const next = this.#at === null ? end : Math.min(end, Math.max(0, this.#at + steps));
      if (event.shiftKey) this.#mark ??= this.#at ?? next;
      else this.#mark = null;
      this.#hover(next);
      this.#showMark();
    } else if (event.key === "Enter") this.#zoomTo(this.#mark ?? this.#at, this.#at);
    else if (event.key === "-" || event.key === "Backspace") onWiden();
    else if (event.key === "Escape") this.#hover((this.#mark = null));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #showMark() {
    const { starts, size } = this.#buckets;
    const [a, b] = this.#mark === null ? [0, 0] : [Math.min(this.#mark, this.#at), Math.max(this.#mark, this.#at)];
    const left = this.#mark === null ? 0 : this.#plot.valToPos(starts[a], "x");
    const right = this.#mark === null ? 0 : this.#plot.valToPos(starts[b] + size, "x");
    this.#plot.setSelect({ left, top: 0, width: right - left, height: this.#plot.over.clientHeight }, false);
  }

  #hover(index) {
    if (index === this.#at) return;
    this.#at = index;
    this.redraw();
    this.#tell();
  }

  // Always one line of one height: the whole window, or the bucket under the cursor.
  #tell() {
    const { total, starts, size } = this.#buckets;
    if (this.#at === null) {
      this.#readout.textContent = sums(total);
      return;
    }
    const from = starts[this.#at];
    const gap = this.#gaps.find((one) => Date.parse(one.first) / 1000 < from + size && (one.until ? Date.parse(one.until) / 1000 : Infinity) > from);
    this.#readout.textContent = `${period(from, size)}  ${sums(this.#buckets.at(this.#at))}${gap ? ` · gap: ${shown(gap.source)}: ${shown(gap.reason)}` : ""}`;
  }
}

function sums({ allow, deny, unknown, other }) {
  const parts = [`${number(deny)} deny`, `${number(allow)} allow`];
  if (unknown) parts.push(`${number(unknown)} unknown`);
  if (other) parts.push(`${number(other)} other`);
  return parts.join(" · ");
}

function period(from, size) {
  const [a, b] = [new Date(from * 1000), new Date((from + size) * 1000)];
  if (size >= 86400) return day(a);
  const text = (date) => (size < 60 ? clock(date, size < 1) : clock(date).slice(0, 5));
  return `${day(a).slice(5)} ${text(a)}–${text(b)}${offset(a)}`;
}
