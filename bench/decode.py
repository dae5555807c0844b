"""Events a second of the decoders on one core, beside plain Python loops in the same run.

    python bench/decode.py [--rounds N] [--events N]

Blocks of about 1 MiB, CPU time, best of N rounds taken in turns so that a busy machine slows all.
"""

import argparse
import random
import shlex
import time
from collections.abc import Callable

import orjson
import pyarrow as pa

from collector.contracts import Block
from collector.decoders.native import NativeDecoder
from collector.decoders.seatbelt import SeatbeltDecoder

_PATHS = (
    "/workspace/src/module_{}.py",
    "/home/agent/.ssh/id_{}",
    "/tmp/build {}/out",
    "/usr/lib/{}",
)


def events(count: int) -> list[dict[str, object]]:
    """Decisions as an enforcement layer writes them."""
    chance = random.Random(1)
    found: list[dict[str, object]] = []
    for number in range(count):
        second, millisecond = divmod(number, 1000)
        found.append({
            "ts": f"2026-07-28T09:{second // 60 % 60:02d}:{second % 60:02d}.{millisecond:03d}Z",
            "sandbox": f"agent-{chance.randrange(5)}",
            "syscall": "open",
            "resource": "filesystem",
            "path": chance.choice(_PATHS).format(chance.randrange(20_000)),
            "access": chance.choice(["read", "write"]),
            "decision": chance.choice(["allow", "allow", "allow", "deny"]),
            "policy_rule": f"filesystem.allow[{chance.randrange(8)}]",
            "latency_us": chance.randrange(10, 400),
        })  # fmt: skip
    return found


def json_lines(rows: list[dict[str, object]]) -> bytes:
    """One object a line."""
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def logfmt_lines(rows: list[dict[str, object]]) -> bytes:
    """One line of pairs an event, quoted where there is a blank."""
    lines = []
    for row in rows:
        pairs = (f'{k}="{v}"' if " " in str(v) else f"{k}={v}" for k, v in row.items())
        lines.append(" ".join(pairs))
    return "\n".join(lines).encode() + b"\n"


def seatbelt_lines(rows: list[dict[str, object]]) -> bytes:
    """Log entries as `log stream --style ndjson` prints them."""
    kext = "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox"
    return b"".join(
        orjson.dumps({
            "timezoneName": "", "messageType": "Error", "eventType": "logEvent", "source": None,
            "formatString": "%s", "userID": 0, "subsystem": "", "category": "", "threadID": number,
            "backtrace": {"frames": [{"imageOffset": 148280, "imageUUID": "17CFD554-F412"}]},
            "processImagePath": "/kernel", "senderImagePath": kext,
            "timestamp": "2026-09-13 10:08:36.525077-0700", "machTimestamp": number, "processID": 0,
            "eventMessage": f"Sandbox: cat({number}) deny(1) file-read-data {row['path']}",
        }) + b"\n"
        for number, row in enumerate(rows)
    )  # fmt: skip


def decoded(make: Callable[[], object], data: bytes) -> int:
    """Rows of one block."""
    block = Block("bench", "f", data, 0, len(data), final=True)
    return int(make().decode(block).batch.num_rows)  # type: ignore[attr-defined]


def orjson_loop(data: bytes) -> int:
    """What one writes first: a loop over lines, then columns."""
    return pa.Table.from_pylist([orjson.loads(line) for line in data.splitlines()]).num_rows


def split_loop(data: bytes) -> int:
    """Split at blanks where there are no quotes, else like a shell."""
    rows = []
    for line in data.decode().splitlines():
        words = shlex.split(line) if '"' in line else line.split(" ")
        rows.append(dict(word.split("=", 1) for word in words))
    return pa.Table.from_pylist(rows).num_rows


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--events", type=int, default=4400)
    options = parser.parse_args()
    rows = events(options.events)
    plain, logfmt, log = json_lines(rows), logfmt_lines(rows), seatbelt_lines(rows)
    unknown = json_lines([{**row, "id": 7, "more": {"a": [1, 2], "b": "x"}} for row in rows])
    broken = plain.replace(b'"agent-0"', b'"agent-0', 1)
    cases: dict[str, Callable[[], int]] = {
        "native, JSON": lambda: decoded(NativeDecoder, plain),
        "native, JSON, one bad line": lambda: decoded(NativeDecoder, broken),
        "native, JSON, unknown keys": lambda: decoded(NativeDecoder, unknown),
        "native, logfmt": lambda: decoded(NativeDecoder, logfmt),
        "seatbelt, ndjson": lambda: decoded(SeatbeltDecoder, log),
        "orjson a line, from_pylist": lambda: orjson_loop(plain),
        "str.split a line, from_pylist": lambda: split_loop(logfmt),
    }
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(options.rounds):
        for name, case in cases.items():
            started = time.process_time()
            case()
            best[name] = min(best[name], time.process_time() - started)
    for name, seconds in best.items():
        print(f"{name:32} {options.events / seconds:>12,.0f} events/s")


if __name__ == "__main__":
    main()
