// Times in the browser's zone or in UTC, always with the offset; spans as the command line writes them.
import { prefs } from "./state.js";

const zoneChanged = new EventTarget();
let utc = prefs.get("zone", "local") === "utc";

export const isUtc = () => utc;

export function switchZone() {
  utc = !utc;
  prefs.set("zone", utc ? "utc" : "local");
  zoneChanged.dispatchEvent(new Event("change"));
}
export const onZone = (listen) => zoneChanged.addEventListener("change", listen);

const two = (value) => String(value).padStart(2, "0");

/** `+09`, `+0530`, `+00`. */
export function offset(date) {
  const minutes = utc ? 0 : -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return (minutes < 0 ? "-" : "+") + two(Math.floor(size / 60)) + (size % 60 ? two(size % 60) : "");
}

/** The zone that words like `today` and whole days are meant in. */
export const zoneId = () => (utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

/** The offset as the switch shows it: `+09:00`, `UTC`. */
export function zoneName(date = new Date()) {
  if (utc) return "UTC";
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return (minutes < 0 ? "-" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60);
}

const part = (date, name) => (utc ? date[`getUTC${name}`]() : date[`get${name}`]());

/** `2026-07-28`. */
export const day = (date) => `${part(date, "FullYear")}-${two(part(date, "Month") + 1)}-${two(part(date, "Date"))}`;

/** `18:03:12`, with `.481` if asked. */
export function clock(date, millis = false) {
  const text = `${two(part(date, "Hours"))}:${two(part(date, "Minutes"))}:${two(part(date, "Seconds"))}`;
  return millis ? `${text}.${String(part(date, "Milliseconds")).padStart(3, "0")}` : text;
}

/** `2026-07-28 18:03:12.481+09`. */
export const full = (date, millis = true) => `${day(date)} ${clock(date, millis)}${offset(date)}`;

/** Short for lists: the clock today, else month, day and clock. */
export function brief(date, now = new Date()) {
  const at = `${clock(date)}${offset(date)}`;
  return day(date) === day(now) ? at : `${day(date).slice(5)} ${at}`;
}

/** `34µs 1.2ms 4.8s 2m10s 5h 3d04h`. */
export function span(micros) {
  if (micros < 1000) return `${Math.round(micros)}µs`;
  if (micros < 1e6) return `${trim(micros / 1e3)}ms`;
  const seconds = micros / 1e6;
  if (seconds < 60) return `${trim(seconds)}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d${two(Math.floor((whole % 86400) / 3600))}h`;
}
const trim = (value) => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value)));

/** `2 s`, `5 min`, `3 h`, `2 d`: how long ago, for the eye. */
export function ago(date, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - date) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };
/** Milliseconds of `1h30m`, or null for anything else. */
export function spanMs(text) {
  if (!/^(?:\d{1,9}[smhdw])+$/.test(text)) return null;
  return [...text.matchAll(/(\d+)([smhdw])/g)].reduce((sum, [, count, unit]) => sum + count * UNITS[unit] * 1000, 0);
}

/**
 * `24h` as the whole minute it began in, anything else as it stands. Every question of that minute
 * is then about the same window, and the service counts only what came since the last one.
 */
export function steady(text, now = Date.now()) {
  const back = spanMs(text);
  return back === null ? text : new Date(Math.floor((now - back) / 60_000) * 60_000).toISOString();
}

/** The bounds of the chosen window in ms; null where open. */
export function bounds({ since, until }, now = Date.now()) {
  const at = (text) => {
    if (!text || text === "all") return null;
    const back = spanMs(text);
    if (back !== null) return now - back;
    const date = Date.parse(text);
    return Number.isNaN(date) ? null : date;
  };
  return [at(since), at(until)];
}

const PRESETS = [["15m", "Last 15 minutes"], ["1h", "Last hour"], ["6h", "Last 6 hours"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["all", "All time"]];
export const presets = PRESETS;

/** `2026-07-28 17:05+09 to now`: what a window comes to at this moment. */
export function windowName(window, now = Date.now()) {
  const [since, until] = bounds(window, now);
  const name = (ms, text, open) => (ms === null ? text && text !== "all" ? text : open : `${day(new Date(ms))} ${clock(new Date(ms)).slice(0, 5)}${offset(new Date(ms))}`);
  return `${name(since, window.since, "from the beginning")} to ${name(until, window.until, "now")}`;
}

/** What the range button says. */
export function rangeName({ since, until }) {
  const preset = PRESETS.find(([value]) => value === since);
  if (preset && !until) return preset[1];
  const name = (text) => {
    const date = new Date(text);
    return Number.isNaN(date.getTime()) || spanMs(text) !== null ? text : `${day(date)} ${clock(date)}`;
  };
  const to = until ? name(until) : "now";
  const from = since === "all" ? "the beginning" : name(since);
  const sameDay = from.slice(0, 11) === to.slice(0, 11) && from.length > 11;
  return `${from} to ${sameDay ? to.slice(11) : to}${from.length > 11 || to.length > 11 ? ` ${isUtc() ? "UTC" : offset(new Date())}` : ""}`;
}
