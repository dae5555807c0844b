"""A real server in a thread: uvicorn on a free port, over a store of plain rows."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from audit.call import Call
from audit.serving import tokens
from audit.serving.running import Server, server_of
from audit.serving.service import Limits, Service, make_service
from audit.serving.sockets import Place, listen
from audit.serving.tokens import Scope
from tests.query.stores import StoreWriter, build, event

STOP_S = 20.0


class Clock:
    """A clock that stands still until it is moved; µs."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        """Later."""
        self.now += int(seconds * 1_000_000)


@dataclass
class Served:
    """A running service and what a test needs of it."""

    service: Service
    server: Server
    url: str
    clock: Clock
    store: StoreWriter
    token: str
    port: int
    log: list[str] = field(default_factory=list)

    def make_token(self, name: str, *sandboxes: str, export: bool = False) -> str:
        """A token of its own scope, good for a day."""
        scope = Scope(sandboxes=sandboxes or None, export=export)
        now = self.clock()
        return tokens.create(self.service.store, name, scope, now, now + 86_400_000_000)

    def client(self, token: str | None = None, **more: Any) -> httpx.Client:
        """A client with a token (the full one by default; "" is none)."""
        given = self.token if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30.0, **more)


@contextmanager
def serving(
    store: StoreWriter, limits: Limits | None = None, *, now: int | None = None
) -> Iterator[Served]:
    """A server over a store until the block ends; its clock stands at the newest event."""
    clock = Clock(now or event(_last_seq(store))["ts"] + 60_000_000)
    call = Call("audit", str(store.paths.root), None, {}, clock)
    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    service = make_service(call, store.paths, limits, hosts=Place().hosts(port), log_requests=True)
    scope = Scope(export=True)
    token = tokens.create(store.paths, "everything", scope, clock() - 1, None)
    log: list[str] = []
    server = server_of(service, log.append)
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[sock])), name="served"
    )
    thread.start()
    try:
        _until(lambda: server.started or not thread.is_alive())
        url = f"http://127.0.0.1:{port}"
        yield Served(service, server, url, clock, store, token, port, log)
    finally:
        server.should_exit = True
        thread.join(STOP_S)
        assert not thread.is_alive()


def _last_seq(store: StoreWriter) -> int:
    return int(store.con.execute("SELECT value FROM meta WHERE key = 'last_seq'").fetchone()[0])


def _until(true: Callable[[], bool]) -> None:
    ready = threading.Event()
    while not true():
        ready.wait(0.005)


def rows() -> list[dict[str, Any]]:
    """60 events of two sandboxes, two runs, allowed and refused, files and network."""
    return [_row(seq) for seq in range(1, 61)]


def _row(seq: int) -> dict[str, Any]:
    demo = seq % 3 != 0
    sandbox, run = ("agent-demo", "7f3a91c2") if demo else ("agent-other", "b41d7788")
    values: dict[str, Any] = {"sandbox": sandbox, "correlation_id": run, "kind": "decision"}
    values |= {"process": "node" if seq % 2 else "git", "pid": 400 + seq % 4, "count": 1}
    if seq % 5 == 0:
        values |= {
            "decision": "deny", "resource": "network", "access": "connect",
            "dst": "140.82.113.4:443", "dst_host": "140.82.113.4", "dst_port": 443,
            "policy_rule": "network.egress.deny-all", "rule_section": "network.egress",
        }  # fmt: skip
    else:
        values |= {
            "decision": "deny" if seq % 7 == 0 else "allow", "resource": "filesystem",
            "access": "read", "path": f"/workspace/src/file-{seq % 9}.py",
            "policy_rule": "filesystem.allow[0]", "rule_section": "filesystem.allow",
            "rule_index": 0, "latency_us": 20 + seq,
        }  # fmt: skip
    return event(seq, **values)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StoreWriter]:
    """A store of its own: half in the archive, half in the spool."""
    writer = build(tmp_path / "store", rows(), sealed=30)
    yield writer
    writer.con.close()


@pytest.fixture
def served(store: StoreWriter) -> Iterator[Served]:
    """A server over it."""
    with serving(store) as running:
        yield running


@pytest.fixture
def token(served: Served) -> str:
    """A token that may see and export everything."""
    return served.token


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    """A client with that token."""
    with served.client() as found:
        yield found
