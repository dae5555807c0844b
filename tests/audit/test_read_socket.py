"""The read socket: the same answers for another account, and nothing else for anybody."""

import grp
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit import reads, wiring
from audit.read_socket import ReadSocket
from audit.reading_server import Readers, ReadServer, readers
from audit.reading_wire import MAX_ASK_BYTES, Ask, encoded
from audit.settings import ReadSettings
from audit_events.errors import SettingsError, StorageError, UsageError
from audit_events.layout import StorePaths
from query.contracts import Request, Window
from tests.audit.story import NOW
from tests.audit.terminal import ROOT

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


def until(true: Callable[[], Any], timeout: float = 20) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


# --- one server in this process, asked by this account --------------------------------------------


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


@pytest.fixture(scope="module")
def door(story_store: Path) -> Iterator[Path]:
    """A served story."""
    with served(story_store) as (path, _):
        yield path


QUESTIONS: Mapping[str, tuple[Any, ...]] = {
    "answer": (Request({"decision": ("deny",)}, Window(), 3),),
    "count": (Request({"path": ("**/.ssh",)}), 5.0),
    "situation": (NOW, NOW - 3_600_000_000),
    "status": (NOW, NOW - 3_600_000_000),
    "newest_runs": (Request(limit=2), NOW, True),
    "gaps": (Window(),),
    "known_sandboxes": (),
    "hot_denies": (),
    "runs_by_prefix": ("7f",),
    "newest_runs_named": (),
    "source_states": (),
    "newest_seq": (),
    "store_id": (),
    "last_collector": (NOW,),
}


def test_every_question_has_the_same_answer_through_the_socket(
    door: Path, story_store: Path
) -> None:
    """Each verb gives what the function behind it gives; the three others are tested below."""
    assert QUESTIONS.keys() | {"disk_free"} == reads.VERBS.keys()
    far = ReadSocket(door)
    for name, words in QUESTIONS.items():
        read = getattr(reads, name)
        assert read(far, *words) == read(StorePaths(story_store), *words), name
    assert reads.disk_free(far) > 0
    only = Request({"kind": ("decision",)})
    for merged in (True, False):
        near = reads.count(StorePaths(story_store), only, merged=merged)
        assert reads.count(far, only, merged=merged) == near
    far.close()


def test_pages_through_the_socket_hold_the_same_columns(door: Path, story_store: Path) -> None:
    """Arrow rows made of the socket's rows are those of the store, nulls and times included."""
    import pyarrow as pa

    def all_rows(store: reads.Store) -> list[dict[str, Any]]:
        pages = list(reads.pages(store, Request()))
        return [row for page in pages for row in pa.table(page.table).to_pylist()]

    assert all_rows(ReadSocket(door)) == all_rows(StorePaths(story_store))


def test_errors_come_through_as_what_they_are(door: Path) -> None:
    """A wrong filter is a usage error here too, and too large an answer says how to get it."""
    far = ReadSocket(door)
    with pytest.raises(UsageError):
        reads.count(far, Request({"dst": ("300.1.1.1/99",)}))
    with pytest.raises(UsageError, match="at most 20,000 events"):
        reads.answer(far, Request(limit=20_001))
    assert reads.newest_seq(far) > 0
    far.close()


HOSTILE = (
    b"x" * (1 << 20),
    b"not JSON\n",
    b"\xff\xfe\x00\n",
    b"[" * 50_000 + b"\n",
    b'{"verb":"open_engine"}\n',
    b'{"verb":"__class__","words":[]}\n',
    b'{"verb":"count"}\n',
    b'{"verb":"count","words":[{}],"named":{"request":{}}}\n',
    b'{"verb":"count","words":[{}],"named":{"store":"/etc/passwd"}}\n',
    b'{"verb":"count","words":[{},1,true,4,5]}\n',
    b'{"verb":"count","words":[{"values":{"path":[1]}}]}\n',
    b'{"verb":"count","words":[{"values":{"nonsense":["1"]}}]}\n',
    b'{"verb":"store_id","words":["/etc/passwd"]}\n',
    b'{"verb":"store_id","words":[],"store":"/etc"}\n',
    b'{"verb":"follow","words":["1; DROP TABLE meta",{},1]}\n',
)


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:30].decode("latin-1").strip())
def test_a_hostile_line_gets_one_error_line(door: Path, line: bytes) -> None:
    """It says what is wrong, quotes nothing, and no row goes out."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(str(door))
        with_end = line if len(line) > MAX_ASK_BYTES else line + encoded(Ask("store_id"))
        try:
            sock.sendall(with_end)
        except OSError:
            assert len(line) > MAX_ASK_BYTES
        answer = [json.loads(text) for text in sock.makefile("rb").readlines(1)]
    assert list(answer[0]) == ["error"]
    assert "DROP" not in str(answer)
    assert "passwd" not in str(answer)


@pytest.mark.parametrize("value", ["'; DROP TABLE runs; --", "x' OR 1=1 --", "*' UNION SELECT 1"])
def test_a_value_is_never_sql(door: Path, value: str) -> None:
    """It is compared, found nowhere, and the store is as it was."""
    far = ReadSocket(door)
    before = reads.newest_seq(far)
    assert reads.count(far, Request({"sandbox": (value,), "grep": (value,)})).records == 0
    assert reads.runs_by_prefix(far, value) == []
    assert reads.newest_seq(far) == before
    far.close()


def test_one_reader_too_many_is_told_so(story_store: Path) -> None:
    """The first goes on."""
    with served(story_store, most=1) as (path, _):
        first = ReadSocket(path)
        assert reads.newest_seq(first)
        with pytest.raises(StorageError, match="1 readers are here already"):
            reads.newest_seq(ReadSocket(path))
        assert reads.newest_seq(first)
        first.close()


def test_a_reader_that_takes_nothing_is_let_go(story_store: Path) -> None:
    """Its process ends after a few seconds, whatever was left to send; the collector says so."""
    with served(story_store, slow_s=1.0) as (path, said), socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
        sock.sendall(encoded(Ask("hot_denies")) * 1_000)
        until(lambda: said)
        assert "took nothing for 1 s and was let go" in said[0]


def test_who_is_admitted() -> None:
    """Members of the group by any of their groups; with `users` only these of them."""
    path, member = Path("/x"), _member()
    assert Readers(path, group=4711).admit(uid=NOBODY, gid=4711)
    assert not Readers(path, group=4711).admit(uid=NOBODY, gid=NOBODY)
    assert not Readers(path, 4711, frozenset({1})).admit(uid=NOBODY, gid=4711)
    assert Readers(path, 4711, frozenset({NOBODY})).admit(uid=NOBODY, gid=4711)
    assert Readers(path, 4711).admit(uid=os.geteuid(), gid=0)
    if member:
        uid, gid = member
        assert Readers(path, gid).admit(uid, gid=4711)


def _member() -> tuple[int, int] | None:
    """An account and a further group of it, if this machine has such."""
    import pwd

    for group in grp.getgrall():
        for name in group.gr_mem:
            try:
                return pwd.getpwnam(name).pw_uid, group.gr_gid
            except KeyError:
                continue
    return None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (ReadSettings(users=("oncall",)), "no group"),
        (ReadSettings(group="no-such-group-here", socket="/x"), "no group no-such-group-here"),
        (ReadSettings(group="?", users=("no-such-user",), socket="/x"), "no user no-such-user"),
    ],
)
def test_settings_that_mean_nothing_here(settings: ReadSettings, said: str) -> None:
    """They stop the collector before it starts, with the name."""
    group = grp.getgrgid(os.getegid()).gr_name if settings.group == "?" else settings.group
    with pytest.raises(SettingsError, match=said):
        readers(msgspec.structs.replace(settings, group=group), "7kq2m")


def test_without_the_setting_there_is_no_socket() -> None:
    """Nothing is opened that was not asked for."""
    assert readers(ReadSettings(), "7kq2m") is None


def test_sockets_of_a_folder(tmp_path: Path, door: Path) -> None:
    """Those that this account may use are found; a folder that is not there holds none."""
    assert wiring.read_sockets(door.parent) == [door]
    assert wiring.read_sockets(tmp_path / "none") == []


# --- a real collector of root's, and the command of another account -------------------------------


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
        self.process = subprocess.Popen(
            [sys.executable, "-m", "audit.main", "collect"],
            env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
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
        return subprocess.run(
            self.words(*words, gid=gid), env=self.environment(f"unix:{self.path}"), cwd=ROOT,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def ours(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the store's owner sees."""
        return subprocess.run(
            [sys.executable, "-m", "tests.audit.as_another", "0", "0", *words],
            env=self.environment(str(self.store)), cwd=ROOT,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A collector that has sealed some events and holds some more."""
    room = Path(tempfile.mkdtemp(prefix="rs-"))
    room.chmod(0o711)
    groups = [g for g in grp.getgrall() if g.gr_gid not in (0, NOBODY)]
    here = Daemon(room, next(g for g in groups if "nobody" not in g.gr_mem))
    try:
        here.write(300, "first")
        until(lambda: list((here.store / "events").glob("date=*/*.parquet")))
        yield here
    finally:
        here.process.kill()
        here.process.wait()
        shutil.rmtree(room)


@needs_root
def test_another_account_gets_the_owners_answer(daemon: Daemon) -> None:
    """Table, data, numbers and the reason of an empty answer, while the store stays closed."""
    words = [
        *("query", "--deny", "-n", "5", "++"),
        *("query", "--json", "-n", "0", "++"),
        *("query", "--count", "--path", "/first", "++"),
        *("query", "--path", "/nowhere", "++"),
        *("gaps", "--json", "++"),
        *("query", "--columns", "path,seq", "-n", "+3"),
    ]
    theirs, ours = daemon.theirs(*words), daemon.ours(*words)
    assert (theirs.returncode, theirs.stdout) == (ours.returncode, ours.stdout)
    assert theirs.stderr == ours.stderr
    assert theirs.stdout.count("/first/299") == 2
    assert daemon.store.stat().st_mode & 0o077 == 0


@needs_root
def test_another_account_sees_the_state(daemon: Daemon) -> None:
    """`status` is answered through the socket; a command that is not says so."""
    state = daemon.theirs("status", "++", "sql", "SELECT 1")
    assert "1 of 1 healthy" in state.stdout
    assert state.returncode == 2
    assert "a read socket answers some questions only" in state.stderr


@needs_root
def test_an_account_outside_the_group_is_refused(daemon: Daemon) -> None:
    """By the folder's mode, and by its credentials where somebody loosened the mode."""
    outside = daemon.theirs("query", gid=NOBODY)
    assert outside.returncode == 5
    assert "this account may not use it" in outside.stderr
    modes = [(path, path.stat().st_mode & 0o777) for path in (daemon.path.parent, daemon.path)]
    assert [oct(mode) for _, mode in modes] == ["0o750", "0o660"]
    try:
        for path, _ in modes:
            path.chmod(0o777)
        loosened = daemon.theirs("query", gid=NOBODY)
    finally:
        for path, mode in modes:
            path.chmod(mode)
    assert loosened.returncode == 5
    assert "this account may not read here" in loosened.stderr
    assert loosened.stdout == outside.stdout == ""


@needs_root
def test_tail_follows_through_seals_and_restarts(daemon: Daemon) -> None:
    """An event is there within a second, each once, and a restart is told and not felt."""
    process = subprocess.Popen(
        daemon.words("tail", "-f", "-n", "0", "--json", "--path", "/live"),
        env=daemon.environment(f"unix:{daemon.path}"), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines: list[str] = []
    words: list[str] = []
    for pipe, into in ((process.stdout, lines), (process.stderr, words)):
        assert pipe is not None
        threading.Thread(target=into.extend, args=(pipe,), daemon=True).start()
    try:
        _first_event(daemon, lines)
        seen = len(lines)
        written = time.monotonic()
        daemon.write(3, "live")
        until(lambda: len(lines) == seen + 3)
        assert time.monotonic() - written < 1.5
        time.sleep(1.5)  # sealed
        daemon.stop()
        until(lambda: any("no collector is running" in word for word in words))
        daemon.write(4, "live")
        daemon.start()
        until(lambda: any("collector started" in word for word in words))
        until(lambda: len(lines) == seen + 7)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
    seqs = [json.loads(line)["seq"] for line in lines]
    assert seqs == sorted(set(seqs))


def _first_event(daemon: Daemon, lines: list[str]) -> None:
    """`tail` follows once it shows something."""

    def shown() -> bool:
        daemon.write(1, "live")
        time.sleep(0.3)
        return bool(lines)

    until(shown)
    time.sleep(0.6)


@needs_root
@pytest.mark.skipif(wiring.READ_FOLDER.exists(), reason="a read socket of this machine is there")
def test_the_default_place_is_found(daemon: Daemon) -> None:
    """Without any setting by who may read, and named to who may not (T2)."""
    wiring.READ_FOLDER.mkdir(mode=0o750)
    try:
        os.chown(wiring.READ_FOLDER, -1, daemon.group.gr_gid)
        (wiring.READ_FOLDER / "7kq2m.sock").symlink_to(daemon.path)
        inside, outside = (
            subprocess.run(
                daemon.words("query", "--count", gid=gid),
                env=daemon.environment(""), cwd=ROOT,
                capture_output=True, text=True, check=False, timeout=60,
            )
            for gid in (daemon.group.gr_gid, NOBODY)
        )  # fmt: skip
    finally:
        shutil.rmtree(wiring.READ_FOLDER)
    assert int(inside.stdout) >= 300
    assert outside.returncode == 5
    assert f"read sockets of group {daemon.group.gr_name}, which this account is not in" in (
        outside.stderr
    )
