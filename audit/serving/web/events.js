// The events view: one question asked of list, timeline and top lists at once, then carried on live.
import { get } from "./api.js";
import { parsed } from "./bar.js";
import { $, button, fill, h, later, number, plural } from "./dom.js";
import { explainEmpty } from "./empty.js";
import { follow } from "./live.js";
import { hidePanel, showPanel } from "./panel.js";
import { MAX_ROWS, Rows } from "./rows.js";
import { go, onChange, state } from "./state.js";
import { noteEvent, noteStream } from "./strip.js";
import { Table } from "./table.js";
import { shown } from "./text.js";
import { Timeline } from "./timeline.js";
import { bounds, onZone, steady, zoneId } from "./times.js";
import { failTops, showTops, startTops, topParams } from "./top.js";

const REFRESH_MS = 30_000; // counts and top lists of a live window
const MAX_WAITING = 20_000;
const WIDEN = 3;

const rows = new Rows();
let table = null;
let timeline = null;
let asking = new AbortController();
let stream = null;
let waiting = [];
let incoming = [];
let isPaused = false;
let fresh = 0; // live events since the counts were asked
let question = { params: [], window: {} };

export function startEvents() {
  table = new Table(rows, { open, move: later(follows, 120), nearEnd: more, close: () => go({ event: "" }) });
  startTops();
  timeline = new Timeline({ onZoom: zoom, onWiden: widen });
  onChange((_state, changed) => {
    if (["q", "since", "until"].some((name) => changed.has(name))) ask();
    if (changed.has("event")) showEvent();
  });
  onZone(() => { table.rezone(); ask(); if (state.event) showEvent(); });
  $("live").addEventListener("click", togglePause);
  $("show-waiting").addEventListener("click", showWaiting);
  $("grid").addEventListener("scroll", () => { if (table.isAtTop && !isPaused && !state.event && waiting.length) showWaiting(); }, { passive: true });
  document.addEventListener("signed-out", () => { asking.abort(); stream?.stop(); });
  setInterval(refresh, REFRESH_MS);
  setInterval(() => { if (stream && !isPaused) timeline.slide(Date.now() / 1000); }, 1000);
  ask();
  if (state.event) showEvent();
}

/** Ask everything anew. */
export async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  stream?.stop();
  stream = null;
  waiting = [];
  incoming = [];
  drawWaiting();
  $("view-events").setAttribute("aria-busy", "true");
  try {
    const answer = await parsed(signal);
    question = asked(answer);
    // The rows first and alone: three queries at once on a busy machine would make all of them late.
    await list(signal);
    await count(signal);
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  } finally {
    if (!signal.aborted) $("view-events").removeAttribute("aria-busy");
  }
}

// Words of the filter (since:1h) win over the range button.
function asked({ params, window }) {
  const since = window.since ?? (state.since === "all" || window.until ? "" : state.since);
  const until = window.until ?? (window.since ? "" : state.until);
  return { filters: params, params: [...params, ...(window.tz ? [] : [["tz", zoneId()]]), ...(since ? [["since", steady(since)]] : []), ...(until ? [["until", until]] : []), ...Object.entries(window).filter(([name]) => !["since", "until"].includes(name))], since, until };
}

async function list(signal) {
  await rows.start(question.params, signal);
  $("empty").hidden = true;
  table.refresh({ top: true });
  if (rows.items.length) noteEvent(rows.items[0].ts);
  else explainEmpty($("empty"), question, rows.gaps, signal);
  const open = Number(state.event.split("-").at(-1));
  table.select(state.event ? open : null, { still: !rows.items.length });
  drawFoot();
  begin();
}

async function count(signal) {
  fresh = 0;
  const tops = get("/v1/top", topParams(question.params), signal).then((answer) => showTops(answer, question.filters), (error) => { if (error.name !== "AbortError") failTops(error); });
  try {
    const counts = await get("/v1/counts", [...question.params, ["bucket", "auto"]], signal);
    timeline.show(counts, counts.gaps, bounds(question));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    timeline.fail(error, rows.gaps); // the list stands without its counts
  }
  drawFoot();
  await tops;
}

function failed(error) {
  if (error.status === 401) return;
  noteStream("");
  const isUsage = error.status === 400;
  if (isUsage && rows.items.length) return; // said at the bar, what was shown stays
  fill($("empty"), h("p", {}, h("b", {}, isUsage ? "Nothing was asked. " : "No answer. "), shown(error.message)), error.hint ? h("p", { class: "muted" }, shown(error.hint)) : null, button("Ask again", ask));
  $("empty").hidden = false;
}

// --- live ---------------------------------------------------------------------------------------

function begin() {
  drawLive();
  if (question.until) return;
  const params = question.params.filter(([name]) => name !== "since");
  stream = follow(params, rows.upto, { event: arrive, gap: timeline.addGap.bind(timeline), upto: () => {}, state: noteStream });
}

function arrive(row) {
  noteEvent(row.ts);
  timeline.add(row);
  fresh += 1;
  // A burst is drawn once a frame.
  if (incoming.push(row) === 1) requestAnimationFrame(settle);
}

function settle() {
  const batch = incoming;
  incoming = [];
  if (isPaused || state.event || !table.isAtTop) {
    waiting.push(...batch);
    if (waiting.length > MAX_WAITING) waiting.splice(0, waiting.length - MAX_WAITING);
    drawWaiting();
    return;
  }
  put(batch);
}

function put(batch) {
  if (!batch.length) return;
  rows.prepend(batch);
  $("empty").hidden = true;
  table.refresh({ top: true });
  drawFoot();
}

function showWaiting() {
  const batch = waiting;
  waiting = [];
  drawWaiting();
  if (batch.length >= MAX_WAITING) ask();
  else put(batch);
  $("grid").scrollTop = 0;
}

export function togglePause() {
  if (question.until) {
    go({ until: "", since: state.since === "all" || /Z$/.test(state.since) ? "24h" : state.since });
    return;
  }
  isPaused = !isPaused;
  noteStream(isPaused ? "paused" : "live");
  drawLive();
  if (!isPaused) showWaiting();
}

function drawLive() {
  const node = $("live");
  const isPast = Boolean(question.until);
  node.setAttribute("aria-pressed", String(!isPaused && !isPast));
  node.title = isPast ? "This range has an end; press to go on to now" : isPaused ? "Go on (p)" : "Pause (p)";
  fill(node, h("span", { class: "dot", "aria-hidden": "true" }), isPast ? "Past" : isPaused ? "Paused" : "Live");
}

function drawWaiting() {
  $("waiting").hidden = waiting.length === 0;
  const most = waiting.length >= MAX_WAITING ? "more than " : "";
  $("show-waiting").textContent = `${most}${plural(waiting.length, "new event")} · show`;
}
export { showWaiting };

function refresh() {
  // Not under the hands of somebody who reads or walks through them.
  if ($("chart").matches(":hover, :focus") || $("tops").matches(":hover, :focus-within")) return;
  if (document.hidden || !fresh || isPaused || question.until || !stream) return;
  count(asking.signal).catch(() => {});
}

// --- list and panel -----------------------------------------------------------------------------

async function more() {
  if (!rows.more || rows.isLoading || rows.isFull) return;
  try {
    if (await rows.older(asking.signal)) table.refresh();
  } catch (error) {
    if (error.name !== "AbortError") fill($("foot"), shown(error.message));
  }
  drawFoot();
}

function drawFoot() {
  const { items } = rows;
  const held = items.length;
  const { total } = timeline;
  const all = total.allow + total.deny + total.unknown + total.other;
  const open = rows.isFull ? `the newest ${number(MAX_ROWS)}; narrow the time for older ones` : `newest ${number(held)} of about ${number(Math.max(all, held))}; scroll for older`;
  const end = rows.more ? open : held ? `all ${number(held)}` : "";
  const gaps = rows.gaps.length ? h("a", { href: "?view=record", class: "gap-note", on: { click: (event) => { event.preventDefault(); go({ view: "record" }); } } }, `record incomplete: ${plural(rows.gaps.length, "gap")} in this time`) : null;
  const damaged = rows.damaged.length ? h("b", { class: "is-error" }, `${plural(rows.damaged.length, "damaged file")}: partial answer (audit verify)`) : null;
  fill($("foot"), end ? h("span", {}, end) : null, gaps, damaged);
}

/** To the list by key, with a row marked. */
export function enterList() {
  table.focus();
  if (table.selected === null) table.move(1);
}

function open(seq) {
  go({ event: String(seq) });
  if (matchMedia("(max-width: 60rem)").matches) $("panel").focus();
}

// With the panel open the keys j and k go through events without a step of history for each.
function follows(seq) {
  if (state.event) go({ event: String(seq) }, { replace: true });
}

function showEvent() {
  if (!state.event) {
    hidePanel();
    table.focus();
    if (!isPaused && table.isAtTop && waiting.length) showWaiting();
    return;
  }
  showPanel(state.event, (seq) => { table.select(seq); go({ event: String(seq) }); });
  const seq = Number(state.event.split("-").at(-1));
  if (table.selected !== seq) table.select(seq);
}

// --- time -----------------------------------------------------------------------------------------

function zoom(from, to) {
  go({ since: new Date(from).toISOString(), until: new Date(to).toISOString() });
}

function widen() {
  const now = Date.now();
  const [since, until] = bounds(state, now);
  if (since === null) return;
  const end = until ?? now;
  const more_ = ((end - since) * (WIDEN - 1)) / 2;
  const to = end + more_;
  go({ since: new Date(since - more_ - (to > now ? to - now : 0)).toISOString(), until: to >= now ? "" : new Date(to).toISOString() });
}
