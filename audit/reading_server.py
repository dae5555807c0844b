"""The read socket: who may connect, how many, and a process for each of them."""

import contextlib
import grp
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

from audit.reading_wire import trouble
from audit.reading_worker import SLOW_EXIT, SLOW_S
from audit.settings import ReadSettings
from audit.wiring import READ_FOLDER
from audit_events.errors import SettingsError, SourceError, StorageError
from audit_events.layout import StorePaths
from collector.sources.socket_path import close, listen, peer_ids

# Each reader is a process of 20 to 150 MB.
MAX_READERS: Final = 16
TURN_S: Final = 0.2
END_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Readers:
    """Who may read: accounts of `group`, and of these only `users` if any is named."""

    path: Path
    group: int
    users: frozenset[int] = frozenset()
    most: int = MAX_READERS
    slow_s: float = SLOW_S

    def admit(self, uid: int, gid: int) -> bool:
        """Whether an account may read; root and the store's owner may in any case."""
        if uid in (0, os.geteuid()):
            return True
        if self.users and uid not in self.users:
            return False
        return gid == self.group or self.group in _groups(uid)


def readers(settings: ReadSettings, store_id: str) -> Readers | None:
    """What [read] means on this machine, None without it; SettingsError for what is not there."""
    if settings.group is None:
        if settings.users or settings.socket:
            raise SettingsError("[read]: no group", hint='group = "oncall"')
        return None
    try:
        group = grp.getgrnam(settings.group).gr_gid
    except KeyError:
        raise SettingsError(f"[read] group: no group {settings.group} here") from None
    if settings.socket is None and os.geteuid() != 0:
        raise SettingsError(
            "[read]: no socket; other accounts cannot enter the folders of this one",
            hint='socket = "/path/that/the/group/can/enter/read.sock"',
        )
    path = Path(settings.socket or READ_FOLDER / f"{store_id}.sock").expanduser()
    return Readers(path, group, frozenset(_uid(name) for name in settings.users))


def _uid(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise SettingsError(f"[read] users: no user {name} here") from None


def _groups(uid: int) -> list[int]:
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return []
    return os.getgrouplist(account.pw_name, account.pw_gid)


@dataclass(slots=True)
class ReadServer:
    """A service of the collector: call it, and it serves until `stop`; it never raises."""

    store: StorePaths
    readers: Readers
    say: Callable[[str], None]
    _running: dict[subprocess.Popen[bytes], int] = field(default_factory=dict)

    def __call__(self, stop: Event) -> None:
        path = self.readers.path
        try:
            listener = listen(path, shared=False, group=self.readers.group)
        except SourceError as error:
            self.say(f"no read socket: {error.message}")
            return
        listener.settimeout(TURN_S)
        try:
            while not stop.is_set():
                self._turn(listener)
        except OSError as error:
            self.say(f"the read socket ended: {error.strerror}")
        finally:
            close(listener, path)
            self._end_all()

    def _turn(self, listener: socket.socket) -> None:
        self._reap()
        try:
            connection, _ = listener.accept()
        except (TimeoutError, ConnectionAbortedError):
            return
        with connection:
            self._admit(connection)

    def _admit(self, connection: socket.socket) -> None:
        try:
            uid, gid = peer_ids(connection)
        except OSError:
            return
        if not self.readers.admit(uid, gid):
            _turn_away(connection, "this account may not read here")
        elif len(self._running) >= self.readers.most:
            _turn_away(connection, f"{self.readers.most} readers are here already")
        else:
            self._start(connection, uid)

    def _start(self, connection: socket.socket, uid: int) -> None:
        words = str(self.store.root.absolute()), str(self.readers.slow_s)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "audit.reading_worker", *words],
                stdin=connection.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        except OSError:
            _turn_away(connection, "no process can be started")
            return
        self._running[process] = uid

    def _reap(self) -> None:
        for process in [p for p in self._running if p.poll() is not None]:
            uid = self._running.pop(process)
            if process.returncode == SLOW_EXIT:
                waited = f"{self.readers.slow_s:.0f} s"
                self.say(f"a reader (uid {uid}) took nothing for {waited} and was let go")

    def _end_all(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()
            process.wait()
        self._running.clear()


def _turn_away(connection: socket.socket, why: str) -> None:
    connection.setblocking(False)
    with contextlib.suppress(OSError):
        connection.send(trouble(StorageError(f"the read socket refuses: {why}")))
