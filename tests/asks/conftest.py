"""A house and its questions, asked through the real command in this process."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.main import run
from collector.service import Collector
from tests.collector.storekit import House, environment


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict]:
        """The events of a --json answer."""
        return json.loads(self.out)


@dataclass
class Sandbox:
    """A log to write, a store to ask."""

    house: House
    capfd: pytest.CaptureFixture[str]

    @property
    def log(self) -> Path:
        """The live log."""
        return self.house.folder / "log" / "decisions.jsonl"

    def write(self, *events: dict | bytes | str, path: Path | None = None) -> None:
        """Append events, one a line."""
        with (path or self.log).open("ab") as file:
            for each in events:
                if isinstance(each, dict):
                    each = json.dumps({**COMMON, **each})
                file.write((each if isinstance(each, bytes) else each.encode()) + b"\n")

    def ask(self, *words: str) -> Answer:
        """`audit WORD…` on the store."""
        self.capfd.readouterr()
        code = run(["audit", "--store", str(self.house.root), *words])
        said = self.capfd.readouterr()
        return Answer(code, said.out, said.err)

    def count(self, *words: str) -> int:
        """How many events match."""
        return int(self.ask("query", "--count", *words).out.split()[0].replace(",", ""))

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A collector in the background, stopped in order at the end."""
        stop = threading.Event()
        collector = Collector(self.house.plan())
        thread = threading.Thread(target=collector.run, args=(stop,), kwargs={"once": False})
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


COMMON = {
    "ts": "2026-07-28T09:03:12.481Z", "sandbox": "agent-demo", "syscall": "open",
    "resource": "filesystem", "path": "/workspace/a", "access": "read", "decision": "allow",
    "policy_rule": "filesystem.allow[0]", "latency_us": 34,
}  # fmt: skip


@pytest.fixture
def sandbox(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Sandbox:
    """Nothing collected yet."""
    house = House(tmp_path)
    for name, value in environment(house).items():
        monkeypatch.setenv(name, value)
    for name in ("AUDIT_STORE", "AUDIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return Sandbox(house, capfd)
