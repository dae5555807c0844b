// The time range: presets, or a beginning and an end in the words of --since and --until.
import { $, button, fill, h } from "./dom.js";
import { go, onChange, state } from "./state.js";
import { bounds, isUtc, onZone, presets, rangeName, zoneName } from "./times.js";

let sheet = null;

function close(focus = true) {
  sheet?.remove();
  sheet = null;
  $("range").setAttribute("aria-expanded", "false");
  if (focus) $("range").focus();
}

function choose(since, until = "") {
  close();
  go({ since, until });
}

const pad = (value) => String(value).padStart(2, "0");
/** `2026-07-28T18:03` in the shown zone, for an input of type datetime-local. */
function local(ms) {
  if (ms === null) return "";
  const date = new Date(isUtc() ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000);
  return `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}T${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
}
const instant = (text) => (text ? new Date(isUtc() ? `${text}Z` : text).toISOString() : "");

function open() {
  const [since, until] = bounds(state);
  const from = h("input", { type: "datetime-local", step: "1", value: local(since) });
  const to = h("input", { type: "datetime-local", step: "1", value: local(until) });
  const wrong = h("p", { class: "is-error", role: "alert" });
  const apply = () => {
    const [a, b] = [instant(from.value), instant(to.value)];
    if (a && b && a >= b) wrong.textContent = "The end lies before the beginning.";
    else choose(a || "all", b);
  };
  sheet = h(
    "div",
    { class: "sheet-range", role: "dialog", "aria-label": "Time range", on: { keydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } else if (event.key === "Enter" && event.target.tagName === "INPUT") { event.preventDefault(); apply(); } } } },
    h("div", { class: "presets" }, presets.map(([value, name]) => button(name, () => choose(value), { "aria-pressed": String(state.since === value && !state.until) }))),
    h("fieldset", {}, h("legend", {}, `From and to (${zoneName()})`),
      h("label", {}, "From", from), h("label", {}, "To, empty for now", to), wrong,
      button("Show this range", apply, { class: "main" })),
  );
  $("range").after(sheet);
  $("range").setAttribute("aria-expanded", "true");
  sheet.querySelector('[aria-pressed="true"], button').focus();
}

export function startRange() {
  const show = () => fill($("range"), rangeName(state));
  $("range").addEventListener("click", () => (sheet ? close() : open()));
  document.addEventListener("pointerdown", (event) => {
    if (sheet && !sheet.contains(event.target) && event.target !== $("range")) close(false);
  });
  onChange(show);
  onZone(show);
  show();
}
