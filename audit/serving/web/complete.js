// Completion of the filter bar, an ARIA combobox: filter names first, then values of the filter typed.
import { get } from "./api.js";
import { fill, h, later } from "./dom.js";
import { word } from "./text.js";

const DELAY_MS = 90;
const MAX_OFFERS = 12;
const TIME_WORDS = ["15m", "1h", "6h", "24h", "7d", "today", "yesterday"];

/** The unquoted word around the caret: where it starts, and its text up to the caret. */
export function wordAt(text, caret) {
  let quote = "";
  let start = 0;
  for (let at = 0; at < caret; at += 1) {
    const char = text[at];
    if (quote) quote = char === quote ? "" : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (/\s/.test(char)) start = at + 1;
  }
  return [start, text.slice(start, caret)];
}

/** What may stand at the caret: `{text, help, open}`; `open` means that a value follows. */
async function offersFor(typed, filters, sandboxes) {
  const found = /^(?:--)?(not-)?([a-z-]+)[:=](!?)["']?(.*?)["']?$/.exec(typed);
  if (!found) return names(typed, filters, sandboxes);
  const [, not = "", name, bang, prefix] = found;
  if (["since", "until", "around"].includes(name)) {
    return TIME_WORDS.filter((time) => time.startsWith(prefix)).map((time) => ({ text: `${name}:${time}`, help: "" }));
  }
  const { values } = await get("/v1/complete", { filter: name, prefix });
  return values.map((one) => ({ text: word(name, one, Boolean(not || bang)), help: "" }));
}

function names(typed, filters, sandboxes) {
  const start = typed.replace(/^--/, "").toLowerCase();
  const not = start.startsWith("not-");
  const bare = not ? start.slice(4) : start;
  const simple = not ? [] : [
    { text: "deny", help: "refused" }, { text: "allow", help: "let through" },
    ...sandboxes.map((name) => ({ text: name, help: "sandbox" })),
  ];
  const keyed = filters.map((one) => ({ text: `${not ? "not-" : ""}${one.name}:`, name: one.name, help: one.help, open: true }));
  return [...simple.filter((one) => one.text.startsWith(start)), ...keyed.filter((one) => one.name.startsWith(bare))];
}

/** Offers under `input` while it has the focus; `onAccept()` after one was taken. */
export function combobox(input, list, onAccept) {
  let filters = [];
  let sandboxes = [];
  let offers = [];
  let at = -1;
  let asked = 0;
  let isTyping = false;

  // Asked when the bar is first entered: nothing of it is needed before.
  let known = null;
  const learn = () => {
    known ??= Promise.all([get("/v1/filters"), get("/v1/complete", { filter: "sandbox", prefix: "" })]).then(
      ([grammar, names]) => { filters = grammar.filters; sandboxes = names.values; },
      () => { known = null; },
    );
    return known;
  };

  const close = () => {
    offers = [];
    at = -1;
    asked += 1;
    isTyping = false;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const mark = (to) => {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = to;
    const node = list.children[at];
    if (!node) return input.removeAttribute("aria-activedescendant");
    node.setAttribute("aria-selected", "true");
    node.scrollIntoView({ block: "nearest" });
    return input.setAttribute("aria-activedescendant", node.id);
  };

  const take = (index) => {
    const [start] = wordAt(input.value, input.selectionStart);
    const rest = input.value.slice(input.selectionStart).replace(/^\S*/, "");
    const { text, open } = offers[index];
    const put = open ? text : `${text} `;
    input.value = input.value.slice(0, start) + put + (open ? rest : rest.trimStart());
    input.setSelectionRange(start + put.length, start + put.length);
    close();
    if (open) ask();
    else onAccept();
  };

  const offer = (found) => {
    offers = found.slice(0, MAX_OFFERS);
    at = -1;
    fill(list, offers.map((one, index) => h(
      "li",
      { id: `offer-${index}`, role: "option", "aria-selected": "false", on: { pointerdown: (event) => { event.preventDefault(); take(index); } } },
      h("span", { class: "mono" }, one.text), one.help && h("span", { class: "muted" }, one.help),
    )));
    list.hidden = offers.length === 0;
    input.setAttribute("aria-expanded", String(offers.length > 0));
    input.removeAttribute("aria-activedescendant");
  };

  const ask = async () => {
    const turn = (asked += 1);
    await learn();
    const [, typed] = wordAt(input.value, input.selectionStart);
    const found = await offersFor(typed, filters, sandboxes).catch(() => []);
    const isDone = found.length === 1 && found[0].text === typed;
    if (turn === asked && document.activeElement === input) offer(isDone ? [] : found);
  };

  // Closed in the meantime (Enter, Esc): what was typed before brings no offers any more.
  const soon = later(() => { if (isTyping) ask(); }, DELAY_MS);
  input.addEventListener("input", () => { isTyping = true; soon(); });
  input.addEventListener("blur", close);
  input.addEventListener("focus", learn);
  input.addEventListener("click", ask);
  input.addEventListener("keydown", (event) => {
    const count = offers.length;
    if (event.key === "ArrowDown" && !count) ask();
    else if (event.key === "ArrowDown") mark((at + 1) % count);
    else if (event.key === "ArrowUp" && count) mark((at - 1 + count) % count);
    else if (event.key === "Enter" && at >= 0) take(at);
    else if (event.key === "Tab" && !event.shiftKey && count && (at >= 0 || input.value.trim())) take(Math.max(at, 0));
    else if (event.key === "Escape" && count) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { close };
}
