"""Events a second of the decoders on one core, beside plain Python loops in the same run.

    python bench/decode.py [--rounds N] [--events N]

Blocks of about 1 MiB, CPU time, best of N rounds taken in turns so that a busy machine slows all.
"""

import argparse
import random
import resource
import shlex
import time
from collections.abc import Callable

import orjson
import pyarrow as pa

from collector.contracts import Block
from collector.decoders.linux_audit import LinuxAuditDecoder
from collector.decoders.native import NativeDecoder
from collector.decoders.santa import decoder as santa_decoder
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


def audit_lines(rows: list[dict[str, object]]) -> bytes:
    """Landlock denials as auditd writes them: four records an event, one event a row."""
    lines = []
    for number, row in enumerate(rows):
        second, millisecond = divmod(number, 1000)
        stamp = f"audit({1785229392 + second}.{millisecond:03}:{number}):"
        lines += [
            f"type=LANDLOCK_ACCESS msg={stamp} domain=195ba459b blockers=fs.read_file "
            f'path="{row["path"]}" dev="vda2" ino=351',
            f"type=SYSCALL msg={stamp} arch=c000003e syscall=257 success=no exit=-13 a0=ffffff9c "
            f"a1=7ffd a2=0 a3=0 items=1 ppid=4 pid={number} auid=1000 uid=1000 gid=1000 euid=1000 "
            'suid=1000 fsuid=1000 egid=1000 sgid=1000 fsgid=1000 tty=pts0 ses=1 comm="cat" '
            'exe="/usr/bin/cat" subj=unconfined key=(null)',
            f"type=PROCTITLE msg={stamp} proctitle=636174002F6574632F736861646F77",
            f"type=EOE msg={stamp} ",
        ]
    return "\n".join(lines).encode() + b"\n"


def santa_lines(rows: list[dict[str, object]]) -> bytes:
    """File accesses as santad writes them."""
    return "".join(
        "[2026-05-12T11:38:03.923Z] I santad: action=FILE_ACCESS|policy_version=1|policy_name=P|"
        f"path={row['path']}|access_type=OPEN|decision=DENIED|operation_id=x|pid={number}|ppid=1|"
        "process=cat|processpath=/bin/cat|uid=501|user=a|gid=20|group=staff|machineid=m\n"
        for number, row in enumerate(rows)
    ).encode()


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


def small_blocks(make: Callable[[], object], data: bytes, lines: int) -> float:
    """Milliseconds of one call for a block of so many lines, as a live log brings them."""
    pieces = [piece + b"\n" for piece in data.split(b"\n")[: lines * 50]]
    blocks = [b"".join(pieces[at : at + lines]) for at in range(0, len(pieces), lines)]
    decoder, at = make(), 0
    started = time.process_time()
    for block in blocks:
        decoder.decode(Block("bench", "f", block, at, at + len(block)))  # type: ignore[attr-defined]
        at += len(block)
    return (time.process_time() - started) / len(blocks) * 1000


def flat(name: str, make: Callable[[], object], data: bytes, lines: int, wanted: int) -> None:
    """One decoder over `wanted` lines of one stream; prints the rate and how memory grew."""
    decoder, at, done, spent = make(), 0, 0, 0.0
    before = 0
    while done < wanted:
        started = time.process_time()
        decoder.decode(Block("bench", "f", data, at, at + len(data)))  # type: ignore[attr-defined]
        spent += time.process_time() - started
        at, done = at + len(data), done + lines
        if not before and done * 5 >= wanted:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{name:32} {done / spent:>12,.0f} lines/s over {done:,} lines; "
        f"peak {after / 1024:,.0f} MiB, {(after - before) / 1024:+,.0f} MiB since the first fifth"
    )


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--events", type=int, default=4400)
    parser.add_argument("--lines", type=int, default=0, help="lines of one long stream, memory")
    options = parser.parse_args()
    rows = events(options.events)
    plain, logfmt, log = json_lines(rows), logfmt_lines(rows), seatbelt_lines(rows)
    audit, santa = audit_lines(rows), santa_lines(rows)
    if options.lines:
        count = options.events
        flat("seatbelt, ndjson", SeatbeltDecoder, log, count, options.lines)
        flat("linux-audit", LinuxAuditDecoder, audit, 4 * count, options.lines)
        flat("native, JSON", NativeDecoder, plain, count, options.lines)
        return
    unknown = json_lines([{**row, "id": 7, "more": {"a": [1, 2], "b": "x"}} for row in rows])
    broken = plain.replace(b'"agent-0"', b'"agent-0', 1)
    cases: dict[str, Callable[[], int]] = {
        "native, JSON": lambda: decoded(NativeDecoder, plain),
        "native, JSON, one bad line": lambda: decoded(NativeDecoder, broken),
        "native, JSON, unknown keys": lambda: decoded(NativeDecoder, unknown),
        "native, logfmt": lambda: decoded(NativeDecoder, logfmt),
        "seatbelt, ndjson": lambda: decoded(SeatbeltDecoder, log),
        "linux-audit (x 4 = records)": lambda: decoded(LinuxAuditDecoder, audit),
        "santa, text": lambda: decoded(santa_decoder.make, santa),
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
    for count in (1, 20):
        for name, make, data in (
            ("native, JSON", NativeDecoder, plain),
            ("native, logfmt", NativeDecoder, logfmt),
            ("seatbelt, ndjson", SeatbeltDecoder, log),
        ):
            best_ms = min(small_blocks(make, data, count) for _ in range(options.rounds))
            print(f"{f'{name}, {count} a block':32} {best_ms:>12.2f} ms a block")


if __name__ == "__main__":
    main()
