"""The live stream: once, in order, whoever is killed meanwhile; and how it ends."""

import asyncio
import json
import os
import random
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from audit.serving import tokens
from audit.serving.service import Limits
from audit.serving.tokens import Scope
from audit_events.errors import AuditError
from audit_events.layout import StorePaths
from query.contracts import Request
from query.engine import answer
from query.views import newest_seq
from tests import forked
from tests.audit.serving.conftest import Served, serving
from tests.audit.serving.process import Process
from tests.audit.serving.trail import DEMO, full_store
from tests.audit.terminal import environment
from tests.query.stores import T0, event

SEED: Final = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
CLIENTS: Final = 20
PATIENCE_S: Final = 120.0
STEP_S: Final = 0.01


@dataclass
class Message:
    """One server-sent event."""

    kind: str
    id: str | None
    data: Any


async def messages(lines: AsyncIterator[str]) -> AsyncIterator[Message]:
    """Whole messages only: what is cut off by a kill does not count, as in a browser."""
    held: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            held[name] = value
            continue
        if "data" in held:
            data = json.loads(held["data"])
            yield Message(held.get("event", "message"), held.get("id"), data)
        held = {}


@dataclass
class Client:
    """A client that comes back with its last id until it has seen what it waits for."""

    url: str
    headers: dict[str, str]
    params: dict[str, str]
    seqs: list[int] = field(default_factory=list)
    last: str = "0"
    upto: int = 0
    opened: int = 0

    async def run(self, done: asyncio.Event) -> None:
        """Until `done`."""
        async with httpx.AsyncClient(timeout=httpx.Timeout(PATIENCE_S)) as client:
            while not done.is_set():
                try:
                    await self._once(client)
                except (httpx.TransportError, httpx.StreamError):
                    await asyncio.sleep(STEP_S)

    async def _once(self, client: httpx.AsyncClient) -> None:
        headers = {**self.headers, "Last-Event-ID": self.last}
        async with client.stream(
            "GET", f"{self.url}/v1/stream", params=self.params, headers=headers
        ) as got:
            assert got.status_code == 200, await got.aread()
            self.opened += 1
            async for message in messages(got.aiter_lines()):
                self.last = message.id or self.last
                self.upto = max(self.upto, int(self.last))
                if message.kind == "event":
                    self.seqs.append(message.data["seq"])


class Log:
    """A sandbox's log that grows by itself."""

    def __init__(self, path: Path, total: int) -> None:
        self._path = path
        self._random = random.Random(SEED)
        self._total = total
        self.written = 0

    async def grow(self) -> None:
        """Some lines at a time, until there are `total`."""
        while self.written < self._total:
            some = min(self._random.randint(1, 40), self._total - self.written)
            with self._path.open("a") as log:
                log.writelines(self._line(self.written + n) for n in range(1, some + 1))
            self.written += some
            await asyncio.sleep(STEP_S)

    def _line(self, number: int) -> str:
        us = T0 + number * 1_000
        values = {
            "ts": us / 1_000_000, "sandbox": ("agent-demo", "agent-other")[number % 2],
            "syscall": "open", "resource": "filesystem", "path": f"/workspace/{number}",
            "access": "read", "decision": ("allow", "deny", "allow")[number % 3],
        }  # fmt: skip
        return json.dumps(values) + "\n"


@contextmanager
def collecting(log: Path, store: Path) -> Iterator[None]:
    """A real collector of this log, which seals all the time."""
    config = log.with_name("audit.toml")
    config.write_text("[seal]\nrows = 150\n")
    env = environment(store, AUDIT_CONFIG=str(config))
    collector = forked.start("audit.main", "collect", str(log), env=env)
    try:
        yield
    finally:
        collector.terminate()
        collector.wait(PATIENCE_S)


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def until(true: Any) -> None:
    """Wait for what others do."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(STEP_S)


def stored(paths: StorePaths) -> int:
    """The newest seq, 0 while there is no store."""
    try:
        return newest_seq(paths)
    except AuditError:
        return 0


KINDS: Final = (
    (None, {}), (None, {"decision": "deny"}), (("agent-demo",), {}),
    (("agent-other",), {"decision": "!deny"}),
)  # fmt: skip


async def killed_and_restarted(folder: Path, total: int, kills: int) -> None:
    """Twenty clients of four kinds, a server that is killed so often while a collector writes."""
    log, paths, port = folder / "agent.jsonl", StorePaths(folder / "store"), free_port()
    log.touch()
    words = ("--port", str(port))
    with collecting(log, paths.root):
        await until(lambda: paths.spool.exists() and stored(paths) >= 0 and paths.toml.exists())
        names = {}
        for number, (scope, _) in enumerate(KINDS):
            made = tokens.create(paths, f"t{number}", Scope(sandboxes=scope), 1, None)
            names[number] = {"Authorization": f"Bearer {made}"}
        clients = [
            Client(f"http://127.0.0.1:{port}", names[n % 4], KINDS[n % 4][1])
            for n in range(CLIENTS)
        ]
        done = asyncio.Event()
        tasks = [asyncio.ensure_future(client.run(done)) for client in clients]
        grows = asyncio.ensure_future(Log(log, total).grow())
        try:
            for number in range(kills):
                with Process(paths.root, words) as server:
                    await asyncio.to_thread(server.heard, "serving ")
                    mark = total * (number + 1) // (kills + 2)
                    await until(lambda mark=mark: max(c.upto for c in clients) >= mark)
                    server.process.send_signal(signal.SIGKILL)
            with Process(paths.root, words) as server:
                await grows
                await until(lambda: stored(paths) >= total)
                await until(lambda: all(c.upto >= _last(c, paths) for c in clients))
                done.set()
                await asyncio.to_thread(server.stop)
        finally:
            done.set()
            for task in (*tasks, grows):
                task.cancel()
            await asyncio.gather(*tasks, grows, return_exceptions=True)
    assert list(paths.events.rglob("*.parquet"))
    for client in clients:
        assert client.seqs == _expected(client, paths)
    assert sum(client.opened for client in clients) >= CLIENTS


def _expected(client: Client, paths: StorePaths) -> list[int]:
    number = int(next(t.name for t in tokens.listed(paths) if _is_of(t, client))[1:])
    scope, params = KINDS[number]
    values = {flag: (value,) for flag, value in params.items()}
    return [row["seq"] for row in answer(paths, Request(values, scope=scope)).rows]


def _is_of(token: tokens.Token, client: Client) -> bool:
    return token.sha256 == tokens.digest(client.headers["Authorization"].split()[1])


def _last(client: Client, paths: StorePaths) -> int:
    return _expected(client, paths)[-1]


def test_twenty_clients_miss_and_repeat_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    """SIGKILL and a new server, twice, while a collector writes."""
    asyncio.run(killed_and_restarted(tmp_path, 600, 2))


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_twenty_clients_outlive_twenty_servers(tmp_path: Path) -> None:
    """The full figure."""
    asyncio.run(killed_and_restarted(tmp_path, 20_000, 20))


def heard(served: Served, token: str, wanted: str, **params: Any) -> list[str]:
    """The lines of a stream up to one that holds `wanted`."""
    lines = []
    with (
        served.client(token) as client,
        client.stream("GET", "/v1/stream", params=params or None) as got,
    ):
        assert got.status_code == 200
        assert got.headers["content-type"].startswith("text/event-stream")
        for line in got.iter_lines():
            lines.append(line)
            if wanted in line:
                break
    return lines


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose streams look every moment whether their caller still may."""
    store = full_store(tmp_path_factory.mktemp("live") / "store")
    with serving(store, Limits(recheck_s=0.05, streams=3)) as running:
        yield running
    store.con.close()


def test_a_stream_begins_where_it_is_told_and_goes_on_with_what_comes(live: Served) -> None:
    """Events with their seq as id, the open gap, then how far it looked."""
    lines = heard(live, live.token, '"upto"', after=60, columns="seq")
    assert lines[0] == "retry: 1000"
    assert [line for line in lines if line.startswith("id: 6")][:3] == [
        "id: 61",
        "id: 62",
        "id: 63",
    ]
    gaps = [json.loads(line[6:]) for line in lines if line.startswith("data: ") and "gap" in line]
    assert [gap["source"] for gap in gaps] == ["other-log"]


def test_a_scoped_stream_tells_no_other_seq(live: Served) -> None:
    """Neither as event nor as the id of a quiet second."""
    token = live.make_token("demo-stream", DEMO)
    lines = heard(live, token, '"upto"', after=0, columns="seq,sandbox")
    data = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert {row["sandbox"] for row in data if "sandbox" in row} == {DEMO}
    assert data[-1] == {"upto": 63}
    assert "other-log" not in "\n".join(lines)


def test_an_event_is_sent_when_it_is_committed(live: Served) -> None:
    """Within the second that the page promises."""
    seq = newest_seq(live.service.store)
    with live.client() as client, client.stream("GET", "/v1/stream?columns=seq") as got:
        lines = got.iter_lines()
        assert next(lines) == "retry: 1000"
        while "upto" not in next(lines):
            pass
        live.store.append([event(seq + 1, kind="decision")])
        told = next(line for line in lines if line.startswith("data: ") and "seq" in line)
    assert json.loads(told[6:]) == {"seq": seq + 1}


def test_a_revoked_token_ends_its_streams(live: Served) -> None:
    """Within the time of one look."""
    token = live.make_token("gone")
    with live.client(token) as client, client.stream("GET", "/v1/stream") as got:
        lines = got.iter_lines()
        assert next(lines) == "retry: 1000"
        tokens.revoke(live.service.store, "gone", live.clock())
        assert [line for line in lines if line.startswith("event: event")] == []
    with live.client(token) as client:
        assert client.get("/v1/stream").status_code == 401


def test_more_streams_than_there_may_be_are_refused_and_closed_ones_free_their_place(
    live: Served,
) -> None:
    """The fourth of three is told when to come back."""
    with live.client() as client:
        for _ in range(2):
            opened = [client.stream("GET", "/v1/stream") for _ in range(3)]
            # A reader that is dropped closes its stream.
            readers = [stream.__enter__().iter_lines() for stream in opened]
            assert [next(reader) for reader in readers] == ["retry: 1000"] * 3
            refused = client.get("/v1/stream")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "E_BUSY")
            assert refused.headers["retry-after"] == "10"
            for stream in opened:
                stream.__exit__(None, None, None)
            asyncio.run(until(lambda: live.service.metrics.streams == 0))


def test_what_is_wrong_with_a_stream_is_said_before_it_begins(live: Served) -> None:
    """In the one shape of errors."""
    with live.client() as client:
        for path, headers in (
            ("/v1/stream?decision=dney", {}),
            ("/v1/stream?columns=pth", {}),
            ("/v1/stream", {"Last-Event-ID": "x"}),
            ("/v1/stream", {"Last-Event-ID": "9" * 30}),
        ):
            got = client.get(path, headers=headers)
            assert (got.status_code, got.json()["error"]["code"]) == (400, "E_USAGE"), path
