// Text that an agent may have chosen: shown escaped as `audit` shows it on a terminal, secrets as chips.
import { h } from "./dom.js";

// C0, DEL, C1, bidi controls and marks, line separators, zero-width and tag characters, bytes that
// were no UTF-8 (U+10FF80 and up), lone surrogates: the same list as audit_events/text.py.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\u{e0000}-\u{e0fff}\u{10ff80}-\u{10ffff}\ud800-\udfff]/gu;
const SHORT = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const BYTE_BASE = 0x10ff00;
const LEADING_MARK = /^\p{M}/u;
const PIECES = /(\[REDACTED(?::[^\]\s/]*)?\])/;

const hex = (code, width) => code.toString(16).padStart(width, "0");

function escapeChar(char) {
  const code = char.codePointAt(0);
  if (code >= BYTE_BASE + 0x80) return `\\x${hex(code - BYTE_BASE, 2)}`;
  if (SHORT[char]) return SHORT[char];
  if (code < 0x100) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

/** Text that cannot hide itself, run backwards or imitate another line. */
export function shown(text) {
  const safe = String(text).replace(UNSAFE, escapeChar);
  return LEADING_MARK.test(safe) ? escapeChar(String.fromCodePoint(safe.codePointAt(0))) + safe.slice(String.fromCodePoint(safe.codePointAt(0)).length) : safe;
}

/** Nodes for a value: escaped text, each masked secret a chip. */
export function value(text) {
  return shown(text).split(PIECES).filter(Boolean).map(piece);
}

function piece(text) {
  const found = /^\[REDACTED(?::([^:\]]*))?(?::([^\]]*))?\]$/.exec(text);
  if (!found) return document.createTextNode(text);
  const [, kind, print] = found;
  const told = `A secret was masked before it was stored${kind ? `: ${kind}` : ""}${print ? `, fingerprint ${print}` : ""}`;
  return h("span", { class: "chip", title: told, data: { secret: print || kind || "any" } }, text);
}

/** A path in two parts: a head that may be cut and a last component that is kept. */
export function pathParts(text) {
  const safe = shown(text);
  const cut = safe.lastIndexOf("/");
  return cut > 0 && cut < safe.length - 1 ? [safe.slice(0, cut), safe.slice(cut)] : ["", safe];
}

/** A word of the filter bar for a value, quoted where the grammar (a shell's) needs it. */
export function word(filter, text, exclude = false) {
  const name = exclude ? `not-${filter}` : filter;
  const plain = shown(text);
  return /^[\w@%+=:,./~-]+$/.test(plain) ? `${name}:${plain}` : `${name}:'${plain.replaceAll("'", "'\"'\"'")}'`;
}
