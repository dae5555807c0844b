// The filter bar: text in the command line's grammar, read by the service; its errors, with their hints.
import { get } from "./api.js";
import { combobox } from "./complete.js";
import { $, fill, h } from "./dom.js";
import { go, onChange, state } from "./state.js";
import { shown, word } from "./text.js";
import { windowName } from "./times.js";

const NOTHING = { params: [], window: {}, described: "" };
let known = { q: "", answer: NOTHING };

/** The filter as query parameters; throws ApiError and shows it at the bar. */
export async function parsed(signal) {
  const { q } = state;
  if (!q.trim()) known = { q, answer: NOTHING };
  if (known.q !== q) {
    try {
      known = { q, answer: await get("/v1/parse", { q }, signal) };
    } catch (error) {
      if (error.name !== "AbortError") complain(error);
      throw error;
    }
  }
  say(known.answer);
  return known.answer;
}

// The line under the bar: the filter in words and the window that it came to.
function say({ described, window = {}, notes = [] }) {
  $("q").removeAttribute("aria-invalid");
  $("said").className = "said";
  const hasWindow = Boolean(window.since || window.until);
  const since = window.since ?? (hasWindow ? "all" : state.since);
  const until = window.until ?? (hasWindow ? "" : state.until);
  // The last part is the window in the service's own zone: told anew in the reader's.
  const parts = described ? described.split(" · ") : [];
  const what = (hasWindow ? parts.slice(0, -1) : parts).join(" · ");
  $("said").textContent = [shown(what) || "all events", windowName({ since, until }), ...notes.map(shown)].join(" · ");
}

/** An error where it was made, with what to do. */
export function complain(error) {
  $("q").setAttribute("aria-invalid", "true");
  $("said").className = "said is-error";
  fill($("said"), h("b", {}, "error "), shown(error.message), error.hint ? h("span", { class: "hint" }, ` hint: ${shown(error.hint)}`) : null);
}

/** Narrow the filter by a value, or leave the value out; a click on a top list or a field does this. */
export function narrow(filter, value, exclude = false) {
  const added = word(filter, value, exclude);
  const words = state.q.trim();
  if (` ${words} `.includes(` ${added} `)) return;
  go({ q: words ? `${words} ${added}` : added, view: "events", event: "" });
}

function submit() {
  const q = $("q").value.trim();
  go({ q, view: "events" });
}

export function startBar() {
  const input = $("q");
  const offers = combobox(input, $("offers"), submit);
  const show = () => {
    if (document.activeElement !== input || input.value.trim() !== state.q) input.value = state.q;
    $("clear").hidden = !state.q;
  };
  $("bar").addEventListener("submit", (event) => {
    event.preventDefault();
    offers.close();
    submit();
  });
  $("clear").addEventListener("click", () => {
    input.value = "";
    submit();
    input.focus();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    input.value = state.q;
    $("grid").focus();
  });
  onChange(show);
  show();
}
