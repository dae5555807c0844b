"""Decision records in bulk, as JSON and logfmt, for the rate bench; same seed, same bytes."""

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 7
PATHS = 20_000
RUNS = 300
CHUNK_EVENTS = 10_000
START = datetime(2026, 7, 28, tzinfo=UTC)
DAY_S = 86_400
# (weight, fields without path or dst): roughly what agents and builds do.
OPERATIONS = (
    (58, ("open", "filesystem", "read", "allow", "filesystem.allow[0]")),
    (22, ("open", "filesystem", "write", "allow", "filesystem.allow[0]")),
    (6, ("execve", "process", "exec", "allow", "process.allow[2]")),
    (4, ("connect", "network", "connect", "allow", "network.egress[0]")),
    (4, ("connect", "network", "connect", "deny", "network.egress.deny-all")),
    (4, ("open", "filesystem", "read", "deny", "filesystem.deny[1]")),
    (2, ("execve", "process", "exec", "deny", "process.default-deny")),
)
# One event in this many carries a secret in its path; one in QUOTED needs quotes in logfmt.
SECRET_EVERY, QUOTED_EVERY = 1_000, 50

Record = dict[str, str | int]


def records(events: int) -> Iterator[list[Record]]:
    """Chunks of records spread evenly over one day."""
    rng = random.Random(SEED)
    paths = [path(rng, n) for n in range(PATHS)]
    weights, operations = zip(*OPERATIONS, strict=True)
    step = timedelta(seconds=DAY_S / max(events, 1))
    for first in range(0, events, CHUNK_EVENTS):
        numbers = range(first, min(first + CHUNK_EVENTS, events))
        chosen = rng.choices(operations, weights, k=len(numbers))
        yield [
            record(rng, START + n * step, n, operation, paths)
            for n, operation in zip(numbers, chosen, strict=True)
        ]


def path(rng: random.Random, n: int) -> str:
    """A path of a project; some hold a blank, few hold what looks like a token."""
    blank = " " if n % QUOTED_EVERY == 0 else "_"
    name = f"module{blank}{n}"
    if n % SECRET_EVERY == 0:
        name = f"oct-{rng.getrandbits(32):08x}-0000-4000-8000-{rng.getrandbits(48):012x}"
    return f"/workspace/src/package{n % 97}/{name}.{rng.choice(('py', 'ts', 'swift'))}"


def record(
    rng: random.Random, ts: datetime, n: int, operation: tuple[str, ...], paths: list[str]
) -> Record:
    """One record; runs and processes change slowly, as in real logs."""
    syscall, resource, access, decision, rule = operation
    run = (n // 500 + n % 3) % RUNS
    where: Record = {"path": paths[int(rng.random() ** 2 * PATHS)]}
    if resource == "network":
        where = {"dst": f"192.0.2.{n % 250}:443"}
    return {
        "ts": ts.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "sandbox": f"agent-{run % 8}", "correlation_id": f"{run * 7919:08x}", "syscall": syscall,
        "resource": resource, **where, "access": access, "decision": decision,
        "policy_rule": rule, "latency_us": 15 + n % 60, "process": f"tool{run % 11}",
        "pid": 2000 + run,
    }  # fmt: skip


def to_json(record: Record) -> str:
    """One line of JSON."""
    return json.dumps(record, separators=(",", ":"))


def to_logfmt(record: Record) -> str:
    """One line of logfmt."""
    return " ".join(f'{k}="{v}"' if " " in str(v) else f"{k}={v}" for k, v in record.items())


FORMATS: dict[str, Callable[[Record], str]] = {"json": to_json, "logfmt": to_logfmt}


def write(target: Path, format: str, events: int) -> None:  # noqa: A002
    """Write that many events; memory stays small, so that it does not show in children's peaks."""
    encode = FORMATS[format]
    with target.open("w") as file:
        for chunk in records(events):
            file.writelines(f"{encode(r)}\n" for r in chunk)
