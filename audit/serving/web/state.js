// What the address says is what the page shows: one state, in the URL, shared by link, back and forward.

const DEFAULTS = { view: "events", q: "", since: "24h", until: "", event: "", run: "", policy: "" };
const VIEWS = ["events", "runs", "policies", "record"];

const listeners = new Set();
export let state = read();

function read() {
  const params = new URLSearchParams(location.search);
  const found = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, params.get(name) ?? value]));
  if (!VIEWS.includes(found.view)) found.view = "events";
  return found;
}

/** The address of the state with a change, defaults left out. */
export function address(patch = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...patch })) {
    if (value !== DEFAULTS[name]) params.set(name, value);
  }
  const text = params.toString();
  return location.pathname + (text ? `?${text}` : "");
}

/** Go on with a change; `replace` makes no step for the back button. */
export function go(patch, { replace = false } = {}) {
  const url = address(patch);
  if (url === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  settle();
}

/** Call `listen(state, changed)` after each change; `changed` is a Set of names. */
export function onChange(listen) {
  listeners.add(listen);
}

function settle() {
  const before = state;
  state = read();
  const changed = new Set(Object.keys(DEFAULTS).filter((name) => before[name] !== state[name]));
  if (changed.size) for (const listen of listeners) listen(state, changed);
}

addEventListener("popstate", settle);

/** Choices of this browser, not of the link: theme and zone. */
export const prefs = {
  get: (name, fallback) => localStorage.getItem(name) ?? fallback,
  set: (name, value) => localStorage.setItem(name, value),
};
