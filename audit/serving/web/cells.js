// What an event says in each column, by the same rules as the command line's lines.
import { h, number } from "./dom.js";
import { pathParts, shown, value } from "./text.js";
import { span } from "./times.js";

/** Columns that the list needs; the rest is fetched when an event is opened. */
export const NEEDED = ["seq", "ts", "kind", "decision", "sandbox", "correlation_id", "process", "pid", "access", "syscall",
  "path", "path_to", "dst", "target", "command", "message", "tool", "outcome", "duration_us", "policy_rule", "rule_origin",
  "enforcer", "flags", "count", "link", "linked_seq", "source", "error", "until"].join(",");

const DECISIONS = { deny: "DENY", allow: "allow", unknown: "?" };
const WORDS = { "DENY": "deny", "allow": "allow", "?": "unknown", "gap": "gap", "note": "note", "tool": "tool" };

/** `DENY` in capitals and `allow` in small letters: readable without colour. */
export function decision(row) {
  if (row.kind === "tool_call" && !row.decision) return "tool";
  if (row.kind === "gap") return "gap";
  if (row.kind === "notice") return "note";
  return DECISIONS[row.decision] ?? "?";
}
export const style = (row) => WORDS[decision(row)];

export function access(row) {
  const word = row.access || row.syscall || "";
  return shown(!word && row.kind === "tool_call" ? "call" : word);
}

export const sandbox = (row) => (row.sandbox && row.sandbox !== "-" ? shown(row.sandbox) : "");

/** The beginning of a run's id, long enough for the filter. */
export function run(id) {
  if (!id || id === "-") return "";
  return id.startsWith("os:") ? shown(id.split(":").slice(0, 3).join(":")) : shown(id).slice(0, 8);
}

export const process = (row) => shown(row.process || "") + (row.pid === undefined || row.pid === null ? "" : `[${row.pid}]`);

/** The rule as reported; `~` derived, `!` at odds with the policy, `(who)` where none is known. */
export function rule(row) {
  if (!row.policy_rule) return row.enforcer ? `(${shown(row.enforcer)})` : "";
  const odd = (row.flags || "").split(",").includes("rule-mismatch");
  return (odd ? "!" : row.rule_origin === "derived" ? "~" : "") + shown(row.policy_rule);
}

/** The object as text: path, address, other; for a tool call the tool and how it ended. */
export function target(row) {
  if (row.kind === "gap") return gap(row);
  if (row.kind === "tool_call" && row.tool) {
    const outcome = row.outcome === "policy_violation" ? "violation" : row.outcome;
    return [row.tool, outcome, row.duration_us === undefined ? "" : span(row.duration_us)].filter(Boolean).join(" ");
  }
  if (row.path !== undefined) return row.path_to ? `${row.path} → ${row.path_to}` : row.path;
  return row.dst ?? row.target ?? row.command ?? row.message ?? "";
}

export function gap(row) {
  const lost = row.count ? ` (${number(row.count)} lost)` : "";
  return `${row.source || "all"}: ${row.message || row.reason || row.error || "incomplete"}${lost}`;
}

/** Nodes for the target: head (may be cut), tail (kept), and how often. */
export function targetNodes(row) {
  const text = target(row);
  const isPath = row.path !== undefined && row.kind !== "tool_call" && !row.path_to;
  const [head, tail] = isPath ? pathParts(text) : ["", text];
  const flags = (row.flags || "").split(",").filter((flag) => ["asked", "would-deny", "forged", "incomplete", "ambiguous"].includes(flag));
  return [
    head && h("span", { class: "head" }, ...value(head)),
    h("span", { class: "tail" }, ...value(tail)),
    row.kind === "decision" && row.count > 1 && h("b", { class: "times", title: `${number(row.count)} occurrences` }, `×${number(row.count)}`),
    row.link === "report" && h("span", { class: "tag", title: `The operating system's report of event ${row.linked_seq}` }, `os report of ${row.linked_seq}`),
    row.link === "repeat" && h("span", { class: "tag", title: `Further occurrences of event ${row.linked_seq}` }, `again ${row.linked_seq}`),
    flags.map((flag) => h("span", { class: "tag" }, flag)),
  ].flat().filter(Boolean);
}
