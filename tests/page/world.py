"""What the page is tested against: the real `audit collect` on a log file, and `audit serve`."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
READY_S = 60.0
_SERVING = re.compile(r"at (http://\S+)")

# Put into every field that an agent, or who named a sandbox, may have chosen.
XSS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "javascript:window.hit=1//",
    "'-window.hit=1-'",
    "{{constructor.constructor('window.hit=1')()}}",
    "</textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
    "\x1b[31m\u202ereversed\u2066\u200bhidden",
)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def story(end: datetime) -> list[dict[str, Any]]:
    """The shipped agent runs, moved so that the last event happened at `end`."""
    records = []
    for line in (EXAMPLES / "agent-demo.jsonl").read_text().splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    times = [datetime.fromisoformat(record["ts"]) for record in records]
    shift = end - max(times)
    return [{**one, "ts": stamp(at + shift)} for one, at in zip(records, times, strict=True)]


def hostile(at: datetime) -> list[dict[str, Any]]:
    """An event for each attack, which stands in every field that takes text."""
    fields = ("path", "process", "policy", "policy_rule", "enforcer", "message", "correlation_id")
    rows = []
    for number, attack in enumerate(XSS):
        base = {
            "ts": stamp(at + timedelta(milliseconds=number)), "sandbox": f"evil {attack}",
            "syscall": "open", "resource": "filesystem", "access": "read", "decision": "deny",
        }  # fmt: skip
        rows.append({**base, **dict.fromkeys(fields, attack), "path": f"/evil/{attack}"})
        tool = {"kind": "tool_call", "tool": attack, "outcome": "ok", "message": attack}
        rows.append({**base, **tool})
    return rows


@dataclass
class Running:
    """A process of ours and what it said on stderr."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def wait_for(self, found: Callable[[str], Any], seconds: float = READY_S) -> Any:
        """What `found` makes of a line on stderr; fails with all that was said."""
        end = time.monotonic() + seconds
        seen = 0
        while time.monotonic() < end:
            while seen < len(self.said):
                if (value := found(self.said[seen])) is not None:
                    return value
                seen += 1
            if self.process.poll() is not None:
                break
            threading.Event().wait(0.02)
        raise AssertionError(f"not said within {seconds} s: {''.join(self.said)}")


@dataclass
class World:
    """A store, its log file, and the service over it."""

    folder: Path
    url: str = ""

    @property
    def log(self) -> Path:
        return self.folder / "agent.jsonl"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        own = {"AUDIT_STORE": str(self.folder / "store"), "XDG_CONFIG_HOME": str(self.folder)}
        return {**kept, **own, "TZ": "UTC"}

    def audit(self, *words: str) -> str:
        """stdout of a command that must succeed."""
        command = [sys.executable, "-m", "audit.main", *words]
        done = subprocess.run(
            command,
            env=self.env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    @contextmanager
    def running(self, *words: str) -> Iterator[Running]:
        process = subprocess.Popen(
            [sys.executable, "-m", "audit.main", *words],
            env=self.env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        one = Running(process)
        assert process.stderr is not None
        reader = threading.Thread(target=lambda: one.said.extend(process.stderr or ()), daemon=True)
        reader.start()
        try:
            yield one
        finally:
            process.terminate()
            process.wait(30)
            reader.join(10)
            process.stderr.close()

    def write(self, *records: dict[str, Any]) -> None:
        """More lines at the end of the log file, in one write."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        with self.log.open("a") as file:
            file.write(text)

    def link(self) -> str:
        """A link into the page, good once."""
        return self.audit("serve", "link").split()[-1]

    def stored(self) -> int:
        """Events in the store; 0 while the collector has not made it."""
        made = (self.folder / "store" / "spool.db").exists()
        return int(self.audit("query", "--count")) if made else 0

    def wait_stored(self, count: int) -> None:
        end = time.monotonic() + READY_S
        while (found := self.stored()) < count:
            assert time.monotonic() < end, f"{found} of {count} stored"
            threading.Event().wait(0.1)


@contextmanager
def served(world: World) -> Iterator[World]:
    """The service over the store on a free port."""
    with world.running("serve", "--port", "0") as service:
        world.url = service.wait_for(lambda line: (m := _SERVING.search(line)) and m[1])
        yield world
