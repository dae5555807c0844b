"""Write the example logs: four runs in three sandboxes, one of them the story of the README.

Same seed, same bytes. Every name, address and secret is invented; the addresses of the builds come
from the range that is reserved for documentation.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SEED = 20260728
LINES = 3412
# Shaped like the token of an agent instance, and like nothing that anybody issues.
SECRET = "oct-0ddba11c-0ffe-4bad-8e1f-decafc0ffee5"  # noqa: S105
# What a writer that died left behind in the middle of a build's log.
TORN_JSON = '{"ts":"2026-07-28T08:46:57.912Z","sandbox":"build-1","syscall":"op'
TORN_LOGFMT = "*** writer restarted ***"
TORN_AT = 1500
PLAIN_VALUE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:[]*+@")

Record = dict[str, Any]


def at(day_time: str, millis: float = 0) -> datetime:
    """A UTC time of July 2026 and some milliseconds; the screens show it at +09:00."""
    start = datetime.fromisoformat(f"2026-07-{day_time}").replace(tzinfo=UTC)
    return start + timedelta(milliseconds=millis)


@dataclass(frozen=True)
class Actor:
    """A process of a run, under a policy."""

    sandbox: str
    run: str
    process: str
    pid: int
    policy: Record

    def does(self, ts: datetime, syscall: str, what: Record) -> Record:
        """One decision record, keys in the order of the enforcement layer."""
        stamp = ts.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        who = {"correlation_id": self.run, "process": self.process, "pid": self.pid}
        return {"ts": stamp, "sandbox": self.sandbox, "syscall": syscall} | what | who | self.policy


def allow(resource: str, access: str, rule: str, latency_us: int, **where: str) -> Record:
    """What an allowed operation says."""
    verdict = {"decision": "allow", "policy_rule": rule, "latency_us": latency_us}
    return {"resource": resource, **where, "access": access, **verdict}


def deny(resource: str, access: str, rule: str, latency_us: int, **where: str) -> Record:
    """What a refused operation says."""
    verdict = {"decision": "deny", "error": f"E_POLICY_DENY: {resource}"}
    return allow(resource, access, rule, latency_us, **where) | verdict


def command(*argv: str) -> Record:
    """The arguments of a process, as one JSON text in every form of the log."""
    return {"command": json.dumps(argv, separators=(",", ":"))}


def agent(run: str, process: str, pid: int) -> Actor:
    """A process of the agent under the shipped policy."""
    policy = {"enforcer": "openclaw", "policy": "agent-readonly"}
    return Actor("agent-demo", run, process, pid, policy)


def with_digest(record: Record) -> Record:
    """The record of a layer that also reports which text of its policy was in force."""
    text = (HERE / "agent-readonly.yaml").read_bytes()
    return record | {"policy_digest": hashlib.sha256(text).hexdigest()}


def story() -> Iterator[Record]:
    """Run 7f3a91c2: 219 allows, 5 denials, one file name that holds a secret, in 2.6 s."""
    zsh, rg = agent("7f3a91c2", "zsh", 4021), agent("7f3a91c2", "rg", 4025)
    git, python = agent("7f3a91c2", "git", 4023), agent("7f3a91c2", "python3", 4031)
    rule, start = "filesystem.allow[0]", "28T09:03:12.481"
    entry = allow("filesystem", "read", rule, 34, path="/workspace/agent-entry.sh")
    yield zsh.does(at(start), "open", entry)
    remote = deny("network", "connect", "network.egress.deny-all", 19, dst="140.82.113.4:443")
    yield git.does(at(start, 31), "connect", remote)
    source = "/workspace/Sources/App/Feature/Settings/SettingsViewController.swift"
    for n in range(212):
        yield rg.does(
            at(start, 174 + n), "open", allow("filesystem", "read", rule, 31, path=source)
        )
    key = deny("filesystem", "read", "filesystem.deny[1]", 22, path="/Users/agent/.ssh/id_ed25519")
    for n in range(3):
        yield python.does(at(start, 539 + 2 * n), "open", key)
    node = deny("process", "exec", "process.default-deny", 27, path="/opt/homebrew/bin/node")
    yield zsh.does(at(start, 820), "execve", node | command("node", "agent.js"))
    names = (SECRET, "plan", "notes", "summary", "diff", "result")
    for name, millis in zip(names, (1521, 1700, 1902, 2188, 2400, 2600), strict=True):
        write = allow("filesystem", "write", rule, 33, path=f"/workspace/{name}.json")
        yield zsh.does(at(start, millis), "open", write)


def evening_before(rng: random.Random) -> Iterator[Record]:
    """Run e07d2290: 214 allows, one refused connection and nine tool calls, in 2.4 s."""
    git, rg, start = (
        agent("e07d2290", "git", 3310),
        agent("e07d2290", "rg", 3312),
        "27T14:10:04.120",
    )
    for n in range(214):
        what = allow("filesystem", "read", "filesystem.allow[0]", latency(rng), path=source(rng))
        yield rg.does(at(start, 11 * n + rng.randrange(9)), "open", what)
    remote = deny("network", "connect", "network.egress.deny-all", 21, dst="140.82.113.4:443")
    yield git.does(at(start, 2400), "connect", remote)
    calls = (*[("search", "ok")] * 5, ("bash", "timeout"), ("bash", "retry"), ("read_file", "ok"))
    for n, (tool, outcome) in enumerate((*calls, ("bash", "policy_violation"))):
        took = 250_000 if outcome == "timeout" else rng.randrange(4_000, 90_000)
        yield tool_call(at(start, 250 * n + 260), tool, outcome, took)


def tool_call(ts: datetime, tool: str, outcome: str, duration_us: int) -> Record:
    """What the agent's own log says of a tool it called."""
    stamp = ts.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    what = {"tool": tool, "outcome": outcome, "duration_us": duration_us}
    who = {"sandbox": "agent-demo", "correlation_id": "e07d2290"}
    return {"ts": stamp, "kind": "tool_call", **what, **who}


def busy_build(rng: random.Random, events: int) -> Iterator[Record]:
    """Run 5be01f77: a build of twelve minutes that is refused nothing."""
    yield from build(rng, ("build-1", "5be01f77"), events, "28T08:41:00.000", 724_000)


def live_build(rng: random.Random) -> Iterator[Record]:
    """Run b41c07e9: a build, and one lookup that macOS refused without naming a rule."""
    yield from build(rng, ("build-2", "b41c07e9"), 402, "28T09:02:08.000", 64_000)
    lookup = {
        "resource": "mach", "target": "com.apple.networkd", "access": "lookup",
        "decision": "deny", "enforcer": "seatbelt",
    }  # fmt: skip
    python = Actor("build-2", "b41c07e9", "Python", 4044, {})
    yield python.does(at("28T09:03:13.377"), "mach-lookup", lookup)


def build(
    rng: random.Random, run: tuple[str, str], events: int, start: str, span_ms: int
) -> Iterator[Record]:
    """Allowed work of a compiler, a linker and a package manager."""
    tools = [Actor(*run, name, 810 + n, {}) for n, name in enumerate(("swiftc", "ld", "git"))]
    for millis in sorted(rng.uniform(0, span_ms) for _ in range(events)):
        yield rng.choice(tools).does(at(start, millis), *work(rng))


def work(rng: random.Random) -> tuple[str, Record]:
    """One operation of a build: mostly reads, some writes, now and then a process or a socket."""
    kind = rng.choices(("read", "write", "delete", "exec", "connect"), (62, 27, 4, 4, 3))[0]
    us, files = latency(rng), "filesystem.allow[0]"
    if kind == "read":
        return "open", allow("filesystem", kind, files, us, path=source(rng))
    if kind in ("write", "delete"):
        path = source(rng).replace("/App/", "/.build/").replace(".swift", ".o")
        call = "open" if kind == "write" else "unlink"
        return call, allow("filesystem", kind, files, us, path=path)
    if kind == "exec":
        what = allow("process", kind, "process.allow[2]", us, path="/usr/bin/clang")
        return "execve", what | command("clang", "-c", source(rng))
    address = f"192.0.2.{rng.randrange(1, 20)}:443"
    return "connect", allow("network", kind, "network.egress[0]", us, dst=address)


def source(rng: random.Random) -> str:
    """A file of the project that is built."""
    feature = rng.choice(("Settings", "Login", "Search", "Sync", "Editor", "Share Sheet"))
    part = rng.choice(("View", "ViewController", "Model", "Store", "Tests", "Größe"))
    name = f"{feature.replace(' ', '')}{part}{rng.randrange(40)}.swift"
    return f"/workspace/App/{feature}/{name}"


def latency(rng: random.Random) -> int:
    """A decision's latency in microseconds; a few are slow."""
    return int(min(18 + rng.lognormvariate(2.4, 0.6), 900))


def records() -> list[Record]:
    """Everything, in the order of time."""
    rng = random.Random(SEED)
    small = [*evening_before(rng), *live_build(rng), *map(with_digest, story())]
    busy = busy_build(rng, LINES - 1 - len(small))
    return sorted([*small, *busy], key=lambda record: str(record["ts"]))


def to_json(record: Record) -> str:
    """The record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def to_logfmt(record: Record) -> str:
    """The record as one line of logfmt."""
    return " ".join(f"{key}={quoted(str(value))}" for key, value in record.items())


def quoted(value: str) -> str:
    """A logfmt value, in quotes when a reader could take it for something else."""
    return value if PLAIN_VALUE.issuperset(value) else json.dumps(value, ensure_ascii=False)


def to_block(record: Record) -> str:
    """The record as a block of lines, closed by a blank one."""
    return "".join(f"{key}={value}\n" for key, value in record.items())


def with_torn_line(lines: list[str], torn: str) -> str:
    """The lines with an unreadable one among those of the busy build."""
    return "".join(f"{line}\n" for line in [*lines[:TORN_AT], torn, *lines[TORN_AT:]])


def main() -> None:
    """Write all example logs beside this file."""
    events = records()
    story_events = [r for r in events if r["correlation_id"] == "7f3a91c2" and r.get("pid") != 4025]
    outputs = {
        "agent-demo.jsonl": with_torn_line([to_json(r) for r in events], TORN_JSON),
        "agent-demo.logfmt": with_torn_line([to_logfmt(r) for r in events], TORN_LOGFMT),
        "agent-demo.block": "\n".join(to_block(r) for r in story_events),
    }
    for name, text in outputs.items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
