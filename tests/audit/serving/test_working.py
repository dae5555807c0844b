"""Queries under limits: time, memory, number; and a client that goes away."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi import Request

from audit.serving.callers import Serving
from audit.serving.service import Limits
from audit.serving.working import run, steps
from query.reader import open_engine
from query.snapshot import connect
from tests.audit.serving.conftest import Served, serving
from tests.query.stores import StoreWriter

ENDLESS = (
    "SELECT count(*) FROM range(10_000_000) a, range(10_000_000) b WHERE hash(a.range) % 7 = 3"
)
SQLITE_ENDLESS = (
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
)


def wait_for(true: Callable[[], bool]) -> None:
    """Until it is so, or 20 s."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def add(served: Served, path: str, function: Callable[[Any], Any]) -> None:
    """A route that asks `function` of the service, as every route does."""

    async def route(request: Request, service: Serving) -> Any:
        return await run(service, request, function, service)

    served.server.config.app.add_api_route(path, route)  # type: ignore[union-attr]


def ask_engine(sql: str) -> Callable[[Any], Any]:
    """A question to DuckDB, opened as every query opens it."""

    def ask(service: Any) -> Any:
        con = open_engine([], service.store.tmp)
        try:
            return con.execute(sql).fetchall()
        finally:
            con.close()

    return ask


@pytest.fixture
def narrow(store: StoreWriter) -> Iterator[Served]:
    """One query at a time, one waiting, half a second each."""
    limits = Limits(queries=1, waiting=1, query_s=0.5, query_memory="64MB")
    with serving(store, limits) as running:
        yield running


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """Status and code."""
    return answer.status_code, answer.json()["error"]["code"]


def test_a_query_is_interrupted_at_its_limit(narrow: Served) -> None:
    """504 with a way out, and the engine has stopped: the next is answered at once."""
    add(narrow, "/v1/slow", ask_engine(ENDLESS))
    with narrow.client() as client:
        began = time.monotonic()
        answer = client.get("/v1/slow")
        assert error_of(answer) == (504, "E_QUERY_TIME")
        assert answer.json()["error"]["hint"] == "narrow it: since=1h"
        assert time.monotonic() - began < 10
        assert client.get("/v1/me").status_code == 200
        assert 'queries_total{ending="interrupted"} 1' in client.get("/metrics").text


def test_sqlite_is_interrupted_too(narrow: Served) -> None:
    """What asks the spool only has the same limit."""

    def ask(service: Any) -> Any:
        with connect(service.store) as con:
            return con.execute(SQLITE_ENDLESS).fetchall()

    add(narrow, "/v1/slow", ask)
    with narrow.client() as client:
        assert error_of(client.get("/v1/slow")) == (504, "E_QUERY_TIME")
        assert client.get("/v1/me").status_code == 200


def test_a_client_that_goes_away_ends_its_query(store: StoreWriter) -> None:
    """Nobody is left who would hear the answer."""
    with serving(store, Limits(queries=1, query_s=300)) as served:
        add(served, "/v1/slow", ask_engine(ENDLESS))
        with served.client() as client, pytest.raises(httpx.ReadTimeout):
            client.get("/v1/slow", timeout=0.5)
        with served.client() as client:
            assert client.get("/v1/me").status_code == 200
        wait_for(lambda: any("GET /v1/slow 499" in line for line in served.log))


def test_a_query_that_wants_too_much_memory_is_refused(store: StoreWriter) -> None:
    """422, and the service lives on."""
    from query.reader import _refused

    def ask(service: Any) -> Any:
        import duckdb

        con = open_engine([], service.store.tmp)
        try:
            assert con.execute("SELECT current_setting('memory_limit')").fetchone() == ("61.0 MiB",)
            con.execute("SELECT list(range) FROM range(50_000_000)").fetchall()
        except duckdb.Error as error:
            raise _refused(error) from None
        finally:
            con.close()

    with serving(store, Limits(query_memory="64MB")) as served:
        add(served, "/v1/large", ask)
        with served.client() as client:
            answer = client.get("/v1/large")
            assert error_of(answer) == (422, "E_QUERY")
            assert answer.json()["error"]["message"] == "the query needs more than 64MB"
            assert client.get("/v1/me").status_code == 200


def test_only_so_many_wait(store: StoreWriter) -> None:
    """One at work, one waiting; the third hears 503 and when to come again."""
    go = threading.Event()
    with serving(store, Limits(queries=1, waiting=1)) as served, ThreadPoolExecutor(3) as pool:
        add(served, "/v1/held", lambda _service: go.wait(20))
        metrics = served.service.metrics
        with served.client() as client:
            first = pool.submit(client.get, "/v1/held")
            wait_for(lambda: metrics.running == 1)
            second = pool.submit(client.get, "/v1/held")
            wait_for(lambda: metrics.waiting == 1)
            answer = client.get("/v1/held")
            go.set()
            assert error_of(answer) == (503, "E_BUSY")
            assert answer.headers["retry-after"] == "2"
            assert (first.result().status_code, second.result().status_code) == (200, 200)
        assert (metrics.running, metrics.waiting) == (0, 0)


def test_a_wait_has_an_end(narrow: Served) -> None:
    """As long as a query may take."""
    go = threading.Event()
    add(narrow, "/v1/held", lambda _service: go.wait(20))
    with narrow.client() as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, "/v1/held")
        wait_for(lambda: narrow.service.metrics.running == 1)
        answer = client.get("/v1/me")
        go.set()
        assert error_of(answer) == (503, "E_BUSY")
        assert first.result().status_code == 504


def test_python_that_cannot_be_ended_keeps_its_place(narrow: Served) -> None:
    """The caller is told; the thread is not forgotten, or threads would pile up."""
    go = threading.Event()
    add(narrow, "/v1/held", lambda _service: go.wait(30))
    metrics = narrow.service.metrics
    with narrow.client() as client:
        assert error_of(client.get("/v1/held")) == (504, "E_QUERY_TIME")
        assert metrics.running == 1
        go.set()
        wait_for(lambda: metrics.running == 0)
        assert client.get("/v1/me").status_code == 200


def test_an_error_of_the_floors_below_comes_in_the_one_shape(served: Served) -> None:
    """With its hint; what is no error of ours is a bug without its text."""
    from audit_events.errors import QueryError, StorageError, UsageError

    for number, (error, told) in enumerate(
        (
            (UsageError("x", hint="y"), (400, "E_USAGE")),
            (StorageError("x"), (503, "E_STORAGE")),
            (QueryError("x"), (422, "E_QUERY")),
            (ValueError("SECRET"), (500, "E_BUG")),
        )
    ):

        def ask(_service: Any, error: Exception = error) -> Any:
            raise error

        add(served, f"/v1/bad{number}", ask)
        with served.client() as client:
            answer = client.get(f"/v1/bad{number}")
        assert error_of(answer) == told
        assert "SECRET" not in answer.text
        assert ("hint" in answer.text) == (told[0] in (400, 500))


def test_steps_hold_no_place_between_them(narrow: Served) -> None:
    """A slow reader of a long answer keeps nobody from asking; each step has its own limit."""

    def numbers() -> Iterator[int]:
        yield from range(3)

    async def walk() -> list[int]:
        from audit.serving.service import make_service

        service = make_service(narrow.service.call, narrow.service.store, narrow.service.limits)
        found = []
        async for number in steps(service, numbers):
            assert service.metrics.running == 0
            found.append(number)
        service.workers.close()
        return found

    assert asyncio.run(walk()) == [0, 1, 2]


def test_a_stop_interrupts_what_does_not_end_in_time(store: StoreWriter) -> None:
    """An answer in flight has `stop_s`, a query without end does not hold the service."""
    began = 0.0
    with serving(store, Limits(query_s=300, stop_s=1)) as served:
        add(served, "/v1/slow", ask_engine(ENDLESS))
        with served.client() as client, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.get, "/v1/slow")
            wait_for(lambda: served.service.metrics.running == 1)
            began = time.monotonic()
            served.server.should_exit = True
            with pytest.raises(httpx.HTTPError):
                asked.result().raise_for_status()
    assert time.monotonic() - began < 15
    assert served.service.workers.ended(10)


def test_an_answer_in_flight_finishes_before_the_end(store: StoreWriter) -> None:
    """Nothing new is taken meanwhile."""
    go = threading.Event()
    with serving(store) as served:
        add(served, "/v1/held", lambda _service: go.wait(20))
        with served.client() as client, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.get, "/v1/held")
            wait_for(lambda: served.service.metrics.running == 1)
            served.server.should_exit = True
            wait_for(served.service.stopping.is_set)
            go.set()
            assert asked.result().json() is True
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{served.url}/healthz")


def test_metrics_name_routes_and_never_what_was_asked(served: Served) -> None:
    """Labels are patterns of our own; the store's state is there."""
    with served.client() as client:
        assert client.get("/v1/me?q=SECRET").status_code == 400
        client.get("/v1/me")
        client.get("/v1/SECRET")
        client.get("/web/SECRET")
        client.request("SECRET", "/v1/me")
        answer = client.get("/metrics")
    text = answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert "SECRET" not in text
    assert 'sandtrail_http_requests_total{route="/v1/me",method="GET",status="200"} 1' in text
    assert 'sandtrail_http_requests_total{route="other",method="GET",status="404"} 1' in text
    assert 'sandtrail_http_request_seconds_bucket{route="/v1/me",le="+Inf"} 3' in text
    assert "sandtrail_store_last_seq 60" in text
    assert "sandtrail_gaps_open 0" in text
    names = [line.split("{")[0].split()[0] for line in text.splitlines() if line[0] != "#"]
    told = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    for name in names:
        stem = name
        for end in ("_bucket", "_sum", "_count"):
            stem = stem.removesuffix(end) if "seconds" in name and "total" not in name else stem
        assert stem in told
