// Keys that work anywhere, and the help that names them all.
import { send } from "./api.js";
import { $, button, fill, h } from "./dom.js";
import { showSignedOut } from "./session.js";

const KEYS = [
  ["/", "to the filter"], ["j k ↓ ↑", "next, previous event"], ["PageDown PageUp Home End", "further through the list"],
  ["Enter", "open the event"], ["Esc", "close it, or leave the filter"], ["p", "pause or go on live"], ["l", "show the events that wait"],
  ["t", "to the timeline: ← → choose, Shift extends, Enter zooms in, − zooms out"], ["g e, g r, g p, g c", "events, runs, policies, record"], ["?", "this help"],
];
const WORDS = [
  ["deny   allow", "by decision"], ["agent-demo", "a sandbox by its bare name"], ["path:/workspace", "a path and all under it; globs work: path:'**/.ssh'"],
  ["dst:140.82.113.4:443   dst:10.0.0.0/8", "host, host:port, network, :port"], ["rule:filesystem.deny.1", "a rule of a policy"], ["run:last   run:7f3a", "the newest run, or the beginning of an id"],
  ["not-process:git   process:!git", "leave out"], ["since:1h until:02:00", "time, instead of the button"], ["grep:token", "text anywhere"],
];

const table = (rows) => h("dl", {}, rows.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]).flat());

export function showHelp() {
  const dialog = $("keys");
  if (dialog.open) return dialog.close();
  fill(dialog, h("div", { class: "help-head" }, h("h1", {}, "Keys and grammar"), button("Close", () => dialog.close(), { class: "quiet" })),
    h("h2", {}, "Keys"), table(KEYS),
    h("h2", {}, "Filter: the command line's own grammar"), table(WORDS),
    h("p", { class: "muted" }, "The same filter again means or, different filters mean and. Quote as in a shell. All filters: audit help filters"),
    button("Sign out of this browser", leave));
  return dialog.showModal();
}

async function leave() {
  await send("DELETE", "/v1/session");
  $("keys").close();
  showSignedOut();
}

const isTyping = (target) => target.matches("input, textarea, select, [contenteditable]");

/** `actions` by key; `g` begins a pair. */
export function startKeys(actions) {
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || $("keys").open) return;
    const pair = before === "g" ? `g ${event.key}` : event.key;
    before = event.key === "g" ? "g" : "";
    const act = actions[pair];
    if (!act) return;
    event.preventDefault();
    act();
  });
  $("help").addEventListener("click", showHelp);
}
