"""The read socket: the same answers for another account, and nothing else for anybody."""

import grp
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit import reads, wiring
from audit.read_socket import ReadSocket
from audit.reading_server import Readers, readers
from audit.reading_wire import MAX_ASK_BYTES, Ask, encoded
from audit.settings import ReadSettings
from audit_events.errors import SettingsError, StorageError, UsageError
from audit_events.layout import StorePaths
from query.contracts import Request, Window
from tests.audit.readkit import NOBODY, served, until
from tests.audit.story import NOW


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
    "neighbours": (4712, Request(), 3),
    "removal": (12,),
    "policy_texts": (["ab" * 32],),
    "policy_records": ("ab" * 32, "agent-demo", NOW),
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
