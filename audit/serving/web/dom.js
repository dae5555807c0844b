// Elements without markup: text only ever becomes text, so nothing an agent wrote can become code.

/** An element; `on` holds listeners, `data` data attributes, other keys attributes (false: none). */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [type, listen] of Object.entries(value)) node.addEventListener(type, listen);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** The element of an id of index.html. */
export const $ = (id) => document.getElementById(id);

/** Replace what a node holds. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A button that does one thing. */
export const button = (text, listen, props = {}) =>
  h("button", { type: "button", on: { click: listen }, ...props }, text);

/** Call `work` once, `ms` after the last call. */
export function later(work, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), ms);
  };
}

let toastTimer = 0;
/** A short note at the foot of the page. */
export function toast(text) {
  const node = $("toast");
  node.textContent = text;
  node.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { node.hidden = true; }, 4000);
}

/** Put text on the clipboard and say so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${text}`);
  } catch {
    toast(`The browser refused the clipboard; type it: ${text}`);
  }
}

/** 81204 -> 81,204. */
export const number = (value) => (value ?? 0).toLocaleString("en-US");

/** 1, "event" -> 1 event; 2 -> 2 events. */
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
