"""Run the story on a terminal of 80 columns and write what it shows into README.md.

With `--check` nothing is written: exit 1 says that README.md shows something else. What differs
from run to run (the store's id, the time taken) is masked before comparing.
"""

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from demo import fresh_place

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
AUDIT = Path(sys.executable).with_name("audit")
BEGIN, END = "<!-- capture: written by examples/capture.py -->", "<!-- /capture -->"
ROWS, COLUMNS = 40, 80
# The one environment in which every reader's terminal would show the same.
SETTING = {"TZ": "Asia/Tokyo", "LANG": "C.UTF-8", "TERM": "dumb"}
COMMANDS = (
    "audit collect examples/agent-demo.jsonl --once",
    "audit tail -n 11 --sandbox agent-demo",
    "audit query --deny --sandbox agent-demo --since 2026-07-28 --json --columns seq,rule",
    "audit policy apply -f examples/agent-readonly.yaml --sandbox agent-demo",
    "audit explain 3188",
)
VARIES = (
    (re.compile(r"(?<=· )[0-9a-z]{5}$|[0-9a-z]{5}(?=-[0-9])", re.M), "STORE"),
    (re.compile(r", [0-9.]+ s$", re.M), ", T s"),
    (re.compile(r"(?<=agent-demo from )\S+(?=; events)"), "NOW"),
)


def shown(line: str, env: dict[str, str]) -> str:
    """What a terminal shows for a command line; stops if the command fails."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    words = [str(AUDIT), *shlex.split(line)[1:]]
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=ROOT)
    os.close(slave)
    text = b"".join(iter(lambda: chunk(master), b""))
    os.close(master)
    if process.wait():
        raise SystemExit(f"{line}: exit {process.returncode}\n{text.decode(errors='replace')}")
    # A line that a later one took away is gone: "\r", and the order to clear to its end.
    return re.sub(r"[^\n]*\r(?!\n)(\x1b\[K)?", "", text.decode().replace("\r\n", "\n"))


def chunk(master: int) -> bytes:
    """What there is to read; nothing when the other end is closed (Linux reports an error then)."""
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


def capture() -> str:
    """All commands over one fresh store."""
    with tempfile.TemporaryDirectory(prefix="sandtrail-") as room:
        env = {**os.environ, **SETTING, **fresh_place(Path(room))}
        env.pop("COLUMNS", None)
        return "\n".join(f"$ {line}\n{shown(line, env)}" for line in COMMANDS)


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, mask in VARIES:
        text = pattern.sub(mask, text)
    return text


def main() -> int:
    """Write, or compare."""
    page = README.read_text()
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    new = f"\n\n```text\n{capture().rstrip()}\n```\n\n"
    if "--check" in sys.argv:
        return int(masked(old) != masked(new))
    README.write_text(f"{before}{BEGIN}{new}{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
