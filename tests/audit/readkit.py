"""A read socket for tests: served in this process, or by a real collector of root's."""

import grp
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audit.reading_server import Readers, ReadServer
from audit_events.layout import StorePaths
from tests import forked

NOBODY = 65534


def until(true: Callable[[], Any], timeout: float = 20) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


@contextmanager
def served(store: Path, **bounds: Any) -> Iterator[tuple[Path, list[str]]]:
    """The socket of a server, and what the server says."""
    with tempfile.TemporaryDirectory(prefix="rs-") as room:
        path, said, stop = Path(room) / "in" / "read.sock", list[str](), threading.Event()
        server = ReadServer(StorePaths(store), Readers(path, os.getegid(), **bounds), said.append)
        thread = threading.Thread(target=server, args=(stop,))
        thread.start()
        try:
            until(path.exists)
            yield path, said
        finally:
            stop.set()
            thread.join()
        assert not path.exists()


class Daemon:
    """A collector with a read socket for one group, in a folder that others may pass."""

    def __init__(self, room: Path, group: grp.struct_group) -> None:
        self.room, self.group = room, group
        self.path, self.log = room / "read" / "r.sock", room / "log.jsonl"
        self.store = room / "store"
        self.log.touch()
        (room / "audit.toml").write_text(
            f'[read]\ngroup = "{group.gr_name}"\nsocket = "{self.path}"\n'
            f'[seal]\nafter = "1s"\n[sources.log]\nkind = "file"\npaths = ["{self.log}"]\n'
        )
        self.start()

    def environment(self, store: str) -> dict[str, str]:
        """Nobody's own settings count."""
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.room), "LANG": "C.UTF-8", "TZ": "UTC",
            "AUDIT_STORE": store, "XDG_CONFIG_HOME": str(self.room / "config"),
        }  # fmt: skip

    def start(self) -> None:
        """Collect, and wait for the socket."""
        env = {**self.environment(str(self.store)), "AUDIT_CONFIG": str(self.room / "audit.toml")}
        self.process = forked.start("audit.main", "collect", env=env)
        until(self.path.exists)

    def stop(self) -> None:
        """In order."""
        self.process.terminate()
        assert self.process.wait(20) == 0

    def write(self, number: int, name: str) -> None:
        """Some refusals."""
        with self.log.open("a") as log:
            log.writelines(
                f'{{"ts":"2026-07-28T09:03:12.{n:06}Z","sandbox":"agent-demo","syscall":"open",'
                f'"resource":"filesystem","path":"/{name}/{n}","access":"read","decision":"deny"}}\n'
                for n in range(number)
            )

    def words(self, *words: str, gid: int | None = None) -> list[str]:
        """The command line that makes another account ask."""
        own = self.group.gr_gid if gid is None else gid
        another = [sys.executable, "-m", "tests.audit.as_another", str(NOBODY), str(own)]
        return [*another, *words]

    def theirs(self, *words: str, gid: int | None = None) -> subprocess.CompletedProcess[str]:
        """What another account sees."""
        _, _, module, *more = self.words(*words, gid=gid)
        return forked.run(module, *more, env=self.environment(f"unix:{self.path}"))

    def ours(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the store's owner sees."""
        env = self.environment(str(self.store))
        return forked.run("tests.audit.as_another", "0", "0", *words, env=env)
