"""A stand-in for macOS's `log`, for tests on any system.

`install` puts an executable into a folder; `fake.json` beside it says how it behaves, read anew at
each call:

    truth    file of entries (ndjson, with bootUUID) that grows; stream follows, show lists it
    stream   {banner: stdout|stderr|none, chunk, drop_every, dropped, exit_after_s, code, says,
              replay, delay_s, many}
    show     {trailer, code, says, shift_ms, delay_s, chunk}

`drop_every` N: after N entries `dropped` ones are left out and the notice is printed. `says` is
written to standard error, and with `code` the call ends there. `replay` is a file that is printed
as it is; `many` entries are made up on the spot, 2,000 a second of the log's time. Pids are added
to `pids`, calls to `calls`.
"""

import json
import os
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

BANNER = b'Filtering the log data using "sender == "Sandbox" AND composedMessage CONTAINS "deny""\n'
DROPPED = b"=== Messages dropped during live streaming (use `log show` to see what they were)\n"
BOOT = "6F1D2C3B-0000-4000-8000-00000000B001"
TICKS_PER_S = 24_000_000


def install(folder: Path, **behaviour: object) -> Path:
    """The command's path."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "log"
    command.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).read_text())
    command.chmod(0o755)
    (folder / "truth").touch()
    behave(command, **behaviour)
    return command


def behave(command: Path, **behaviour: object) -> None:
    """From the next call on."""
    words = {"truth": str(command.parent / "truth"), "stream": {}, "show": {}} | behaviour
    fresh = command.parent / "fake.new"
    fresh.write_text(json.dumps(words))
    fresh.rename(command.parent / "fake.json")


def entry(
    number: int, ticks: int | None = None, boot: str = BOOT, wall: str | None = None
) -> bytes:
    """Report `number`: the pid is its name."""
    when = wall or f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}+0000"
    words = {
        "timezoneName": "", "messageType": "Error", "eventType": "logEvent", "source": None,
        "formatString": "%s", "userID": 0, "subsystem": "", "category": "", "threadID": number % 7,
        "bootUUID": boot, "processImagePath": "/kernel", "timestamp": when,
        "senderImagePath": "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
        "machTimestamp": time.monotonic_ns() * 24 // 1000 if ticks is None else ticks,
        "eventMessage": f"Sandbox: sh({number}) deny(1) file-read-data /private/etc/f{number}",
        "processID": 0,
    }  # fmt: skip
    return json.dumps(words, separators=(",", ":")).replace("/", "\\/").encode() + b"\n"


def lossy(number: int) -> bytes:
    """The log's own word that it lost messages."""
    line = json.loads(entry(number))
    line |= {
        "eventType": "lossEvent",
        "eventMessage": "lost 12 unreliable messages from 1-2 (Mach continuous exact start-approx. "
        "end)",
    }
    return json.dumps(line).encode() + b"\n"


def _say(data: bytes, chunk: int) -> None:
    for at in range(0, len(data), chunk or len(data) or 1):
        rest = data[at : at + (chunk or len(data))]
        while rest:
            rest = rest[os.write(1, rest) :]


WALL = re.compile(rb'"timestamp": ?"([^"]*)"')


def _shown(line: bytes, start: datetime, by: timedelta) -> bytes:
    """The same entry as `show` tells it; nothing if it is too old."""
    found = WALL.search(line)
    if found is None:
        return line
    wall = datetime.fromisoformat(found[1].decode())
    if wall < start:
        return b""
    moved = (wall + by).astimezone(UTC).isoformat(" ", "microseconds")[:-6] + "+0000"
    return line[: found.start(1)] + moved.encode() + line[found.end(1) :]


def _refuses(how: dict) -> None:
    time.sleep(how.get("delay_s", 0))
    if how.get("says"):
        os.write(2, how["says"].encode() + b"\n")
    if how.get("code") and "exit_after_s" not in how:
        sys.exit(how["code"])


def _show(truth: Path, how: dict, words: list[str]) -> None:
    _refuses(how)
    start = datetime.fromisoformat(words[words.index("--start") + 1])
    data = truth.read_bytes()
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    shift = timedelta(milliseconds=how.get("shift_ms", 10))
    shown = [told for line in lines if (told := _shown(line, start, shift))]
    out = BANNER + b"".join(shown)
    if how.get("trailer", True):
        out += b"\n" + json.dumps({"count": len(shown), "finished": 1}).encode() + b"\n"
    _say(out, how.get("chunk", 0))


def _stream(truth: Path, how: dict) -> None:
    _refuses(how)
    banner = how.get("banner", "stdout")
    # Live means: what comes after we listen.
    with truth.open("rb") as file:
        file.seek(0, os.SEEK_END)
        if banner != "none":
            os.write(1 if banner == "stdout" else 2, BANNER)
        if how.get("replay"):
            _say(Path(how["replay"]).read_bytes(), how.get("chunk", 0))
        for first in range(0, how.get("many", 0), 100):
            _say(b"".join(entry(n, n * TICKS_PER_S // 2_000) for n in range(first, first + 100)), 0)
        _follow(file, how)


def _follow(file, how: dict) -> None:
    ends = time.monotonic() + how.get("exit_after_s", 1e9)
    every, dropped, said, half = how.get("drop_every", 0), how.get("dropped", 3), 0, b""
    while time.monotonic() < ends:
        line = half + file.readline()
        half = b""
        if not line.endswith(b"\n"):
            half = line
            time.sleep(0.005)
            continue
        said += 1
        if every and said % (every + dropped) >= every:
            if said % (every + dropped) == every + dropped - 1:
                _say(DROPPED, 0)
            continue
        _say(re.sub(rb'"bootUUID": ?"[^"]*"', b'"bootUUID":""', line), how.get("chunk", 0))
    sys.exit(how.get("code", 0))


def main() -> None:
    """`stream …` or `show …`."""
    here = Path(sys.argv[0]).parent
    how = json.loads((here / "fake.json").read_text())
    with (here / "pids").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    with (here / "calls").open("a") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    if sys.argv[1] == "show":
        _show(Path(how["truth"]), how["show"], sys.argv)
    else:
        _stream(Path(how["truth"]), how["stream"])


if __name__ == "__main__" and Path(sys.argv[0]).name == "log":
    main()
