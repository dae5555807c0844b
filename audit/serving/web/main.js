// The page of `audit serve`: sign in, then strip, bar and events at once; other views when asked for.
import { get } from "./api.js";
import { startBar } from "./bar.js";
import { $, h, fill } from "./dom.js";
import { enterList, showWaiting, startEvents, togglePause } from "./events.js";
import { showHelp, startKeys } from "./keys.js";
import { startRange } from "./range.js";
import { signIn } from "./session.js";
import { address, go, onChange, prefs, state } from "./state.js";
import { startStrip } from "./strip.js";
import { shown } from "./text.js";
import { onZone, switchZone, zoneName } from "./times.js";

const VIEWS = { runs: "./runs.js", policies: "./policies.js", record: "./record.js" };
let hasEvents = false;

function startNav() {
  for (const link of document.querySelectorAll("[data-view]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go({ view: link.dataset.view, event: "", run: "", policy: "" });
    });
  }
  document.querySelector('[data-go="home"]').addEventListener("click", (event) => {
    event.preventDefault();
    go({ view: "events", q: "", since: "24h", until: "", event: "", run: "", policy: "" });
  });
}

async function showView() {
  const { view } = state;
  for (const link of document.querySelectorAll("[data-view]")) {
    const isHere = link.dataset.view === view;
    link.href = address({ view: link.dataset.view, event: "", run: "", policy: "" });
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const node of document.querySelectorAll(".view")) node.hidden = node.id !== `view-${view}`;
  $("bar").hidden = view !== "events";
  document.title = view === "events" ? `${state.q || "Events"} · Sandtrail` : `${view[0].toUpperCase()}${view.slice(1)} · Sandtrail`;
  if (view === "events") {
    if (!hasEvents) startEvents();
    hasEvents = true;
    return;
  }
  const { show } = await import(VIEWS[view]);
  if (state.view === view) show($(`view-${view}`), state);
}

function startLook() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { $("theme").textContent = isDark() ? "Light" : "Dark"; };
  $("theme").addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    prefs.set("theme", next);
    name();
    dispatchEvent(new Event("theme"));
  });
  dark.addEventListener("change", () => { name(); dispatchEvent(new Event("theme")); });
  name();
  const zone = () => { $("zone").textContent = `Times ${zoneName()}`; };
  $("zone").addEventListener("click", switchZone);
  onZone(zone);
  zone();
}

async function showPlace() {
  const me = await get("/v1/me");
  const scope = me.scope?.sandboxes ? ` · only ${me.scope.sandboxes.join(", ")}` : "";
  fill($("place"), h("span", { title: `sandtrail ${me.version}` }, shown(`${me.host} · store ${me.store}${scope}`)));
}

async function start() {
  startLook();
  if (!(await signIn())) return;
  startNav();
  startRange();
  onChange(() => showView());
  showView(); // asks for events first
  startBar();
  startStrip();
  showPlace().catch(() => {});
  startKeys({
    "/": () => { go({ view: "events" }); $("q").focus(); $("q").select(); },
    "?": showHelp, p: togglePause, l: showWaiting, t: () => $("chart").focus(),
    j: enterList, k: enterList,
    Escape: () => go({ event: "" }),
    "g e": () => go({ view: "events" }), "g r": () => go({ view: "runs", event: "" }), "g p": () => go({ view: "policies", event: "" }), "g c": () => go({ view: "record", event: "" }),
  });
}

start();
