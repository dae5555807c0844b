"""Half an hour of everything at once; writes SOAK.md beside this file.

Four sources at 2,000 events a second: a log that is rotated by renaming, one that begins new files,
a socket writer that counts, and a stand-in for macOS's `log`. Meanwhile the collector is ended by
SIGTERM and by SIGKILL, the `log` program is killed, and the store's disk is filled up once.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import soak_load
from measure import AUDIT
from soak_page import page
from soak_watch import Disk, Probes, Watch, disk

HERE = Path(__file__).parent
PAGE = HERE / "SOAK.md"
FAKE_LOG = HERE.parent / "tests" / "collector" / "fake_log.py"
PATIENCE_S = 180.0
CONFIG = """\
host = "soak"
[sources.renamed]
paths = ["{room}/log/decisions.jsonl*"]
decoder = "native"
[sources.dated]
paths = ["{room}/log/dated-*.jsonl"]
decoder = "native"
[sources.socket]
kind = "socket"
path = "{room}/run/in.sock"
decoder = "native"
[sources.oslog]
kind = "unified-log"
log_command = "{room}/bin/log"
any_owner = true
"""


@dataclass
class Room:
    """The processes of one soak and where they live."""

    path: Path
    start: float = field(default_factory=time.monotonic)
    happened: list[tuple[float, float, str]] = field(default_factory=list)
    log_kills: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("log", "run", "bin"):
            (self.path / name).mkdir(mode=0o700)
        command = self.path / "bin" / "log"
        command.write_text(f"#!{sys.executable} -IS\n{FAKE_LOG.read_text()}")
        command.chmod(0o755)
        truth = self.path / "bin" / "truth"
        truth.touch()
        how = {"truth": str(truth), "stream": {}, "show": {"shift_ms": 9.98}}
        (self.path / "bin" / "fake.json").write_text(json.dumps(how))
        config = self.path / "audit.toml"
        config.touch(0o600)
        config.write_text(CONFIG.format(room=self.path))
        self.said = (self.path / "stderr").open("ab")

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def audit(self, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
        """A command of ours."""
        command = [AUDIT, "--config", f"{self.path}/audit.toml", "--store", f"{self.path}/store"]
        env = {**os.environ, "XDG_CONFIG_HOME": f"{self.path}/config", "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen([*command, *words], env=env, stderr=self.said, **options)

    def ask(self, *words: str) -> Any:
        """What a command answers, as JSON."""
        asked = self.audit(*words, "--json", stdout=subprocess.PIPE)
        return json.loads(asked.communicate()[0])

    def note(self, since: float, text: str) -> None:
        """Something was done to the collector from `since` until now."""
        self.happened.append((since, self.now, text))
        print(f"{self.now:7.1f} s  {text}", flush=True)


@dataclass
class Soak:
    """One soak: who runs, and what was seen."""

    room: Room
    disk: Disk
    seconds: float
    watch: Watch
    probes: Probes
    collector: "subprocess.Popen[bytes]" = field(init=False)

    def begin(self) -> None:
        """A collector from now on."""
        self.collector = self.room.audit("collect")
        self.disk.pid = self.collector.pid
        self.watch.collector(self.collector.pid)
        deadline = time.monotonic() + PATIENCE_S
        while not answers(self.room.path / "run" / "in.sock"):
            if self.collector.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the collector did not come up")
            time.sleep(0.05)

    def again(self, how: signal.Signals) -> None:
        """End the collector and start the next one."""
        since = self.room.now
        self.collector.send_signal(how)
        code = self.collector.wait(PATIENCE_S)
        expected = 0 if how == signal.SIGTERM else -how
        if code != expected:
            raise RuntimeError(f"the collector ended with {code}")
        self.begin()
        self.room.note(since, f"collector ended by {how.name}, started again")

    def fill_disk(self) -> None:
        """No room for a while."""
        since, pause = self.room.now, max(10.0, self.seconds / 60)
        self.disk.fill()
        time.sleep(pause)
        self.disk.free()
        self.room.note(since, f"disk full for {pause:.0f} s")

    def kill_log(self) -> None:
        """End the program that the unified-log source listens to."""
        since = self.room.now
        pids = (self.room.path / "bin" / "pids").read_text().split()
        for pid in {int(pid) for pid in pids if is_log(pid)}:
            os.kill(pid, signal.SIGKILL)
            self.room.log_kills.append(time.time())
            self.room.note(since, "log stream killed")

    def deeds(self) -> list[tuple[float, Callable[[], None]]]:
        """What is done, and when, in shares of the whole."""
        kills = [(part / 15 + 0.03, self.kill_log) for part in range(1, 14)]
        return sorted(
            [
                (0.15, lambda: self.again(signal.SIGTERM)),
                (0.25, lambda: self.again(signal.SIGKILL)),
                (0.35, self.fill_disk),
                (0.45, lambda: self.again(signal.SIGKILL)),
                *kills,
            ],
            key=lambda deed: deed[0],
        )

    def run(self, rate: int) -> dict[str, int]:
        """Write, disturb, wait for the rest; how many events each source was given."""
        writing = subprocess.Popen(
            [sys.executable, soak_load.__file__, self.room.path, str(rate), str(self.seconds)],
            stdout=subprocess.PIPE,
        )
        try:
            self.room.start = self.watch.start = self.probes.start = time.monotonic()
            for share, deed in self.deeds():
                time.sleep(max(0.0, share * self.seconds - self.room.now))
                deed()
            given: dict[str, int] = json.loads(writing.communicate()[0])
        finally:
            writing.kill()
        deadline = time.monotonic() + PATIENCE_S
        while self.stored() < sum(given.values()) and time.monotonic() < deadline:
            time.sleep(1)
        return given

    def stored(self) -> int:
        """Decisions in the store."""
        asked = "SELECT count(*) AS n FROM events WHERE kind = 'decision'"
        return int(self.room.ask("sql", asked)[0]["n"])


def answers(path: Path) -> bool:
    """Whether somebody serves there; what a killed collector left behind does not."""
    with socket.socket(socket.AF_UNIX) as knock:
        return knock.connect_ex(str(path)) == 0


def is_log(pid: str) -> bool:
    """Whether it still is the stand-in; a pid may be somebody else's by now."""
    try:
        return b"/bin/log" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def soaked(rate: int, seconds: float) -> tuple[str, bool]:
    """Run it in a room of its own."""
    with tempfile.TemporaryDirectory(prefix="sandtrail-soak-") as name:
        room = Room(Path(name))
        with disk(room.path, room.path / "store") as own:
            soak = Soak(room, own, seconds, Watch(room.path / "store", 0.0), Probes(0.0))
            soak.begin()
            tail = room.audit("tail", "-f", "--json", "-n", "0", "--sandbox", "probe",
                              stdout=subprocess.PIPE)  # fmt: skip
            threads = [
                threading.Thread(target=soak.watch.run),
                threading.Thread(target=soak.probes.follow, args=(tail,)),
            ]
            for thread in threads:
                thread.start()
            try:
                given = soak.run(rate)
                soak.collector.terminate()
                soak.collector.wait(PATIENCE_S)
                time.sleep(2)
            finally:
                soak.collector.kill()
                soak.watch.stop()
                tail.kill()
                for thread in threads:
                    thread.join()
            return page(soak, rate, given)


def main() -> int:
    """Run, write, print; 1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=2_000, help="events a second")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    text, good = soaked(args.rate, args.minutes * 60)
    args.out.write_text(text)
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
