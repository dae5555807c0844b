// How the timeline looks: bars, hatched gaps and axes on uPlot's canvas, in the colours of the page.
import { clock, day } from "./times.js";

// One refusal among 60,000 allows must be seen.
const MIN_DENY_PX = 3;
const MIN_ALLOW_PX = 1;
const MIN_GAP_PX = 3;
const HATCH_PX = 7;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function axes() {
  const font = `${0.72 * parseFloat(getComputedStyle(document.documentElement).fontSize)}px system-ui, sans-serif`;
  const look = { stroke: () => css("--muted"), font, ticks: { show: false }, border: { show: false } };
  return [
    { ...look, grid: { show: false }, size: 24, gap: 4, space: 70, values: timeLabels },
    { ...look, grid: { stroke: () => css("--line"), width: 1 }, size: 46, gap: 6, space: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1e8, 1e9], values: (_plot, splits) => splits.map(short) },
  ];
}

function short(count) {
  if (count >= 1e6) return `${count / 1e6}M`;
  return count >= 1e4 ? `${count / 1e3}k` : String(count);
}

function timeLabels(_plot, splits, _axis, _space, step) {
  let last = "";
  return splits.map((seconds, index) => {
    const date = new Date(seconds * 1000);
    const today = day(date).slice(5);
    const at = step < 1 ? clock(date, true) : step < 60 ? clock(date) : clock(date).slice(0, 5);
    if (step >= 86400) return today;
    const isNew = last !== "" && today !== last;
    last = today;
    return isNew || (index === 0 && at.startsWith("00:00")) ? today : at;
  });
}

/** Deny at the foot, allow on it; the bar under the cursor is framed. */
export function drawBars(plot, buckets, shows, at) {
  const { ctx } = plot;
  const { devicePixelRatio: ratio } = window;
  const colours = { deny: css("--deny-bar"), allow: css("--allow-bar"), line: css("--text") };
  const foot = plot.valToPos(0, "y", true);
  ctx.save();
  clip(plot);
  buckets.starts.forEach((start, index) => {
    const left = Math.round(plot.valToPos(start, "x", true));
    const right = Math.round(plot.valToPos(start + buckets.size, "x", true));
    const width = Math.max(ratio, right - left - (right - left > 4 * ratio ? ratio : 0));
    const { deny, allow } = buckets.at(index);
    const tall = (count, least) => (count ? Math.max(least * ratio, Math.round(foot - plot.valToPos(count, "y", true))) : 0);
    const low = shows.deny ? tall(deny, MIN_DENY_PX) : 0;
    const high = shows.allow ? tall(allow, MIN_ALLOW_PX) : 0;
    ctx.fillStyle = colours.allow;
    ctx.fillRect(left, foot - low - high, width, high);
    ctx.fillStyle = colours.deny;
    ctx.fillRect(left, foot - low, width, low);
    if (index === at) {
      ctx.strokeStyle = colours.line;
      ctx.lineWidth = ratio;
      ctx.strokeRect(left - ratio / 2, plot.bbox.top, width + ratio, plot.bbox.height);
    }
  });
  ctx.restore();
}

/** Where the record is incomplete, whatever the filter: a wash under the bars, a hatching over them. */
export const washGaps = (plot, gaps) => drawGaps(plot, gaps, () => css("--gap-wash"));
export const hatchGaps = (plot, gaps) => drawGaps(plot, gaps, hatch);

function drawGaps(plot, gaps, style) {
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x;
  const least = MIN_GAP_PX * window.devicePixelRatio;
  ctx.save();
  clip(plot);
  for (const gap of gaps) {
    const from = Date.parse(gap.first) / 1000;
    const to = gap.until ? Date.parse(gap.until) / 1000 : max;
    if (to < min || from > max) continue;
    const left = plot.valToPos(Math.max(from, min), "x", true);
    const width = Math.max(least, plot.valToPos(Math.min(to, max), "x", true) - left);
    ctx.fillStyle = style(ctx);
    ctx.fillRect(left, bbox.top, width, bbox.height);
  }
  ctx.restore();
}

function clip({ ctx, bbox }) {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

function hatch(ctx) {
  const size = Math.round(HATCH_PX * window.devicePixelRatio);
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d");
  pen.strokeStyle = css("--gap-line");
  pen.lineWidth = window.devicePixelRatio * 1.2;
  // Thrice, so that the line goes on over the tile's corners.
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return ctx.createPattern(tile, "repeat");
}
