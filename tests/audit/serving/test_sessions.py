"""The browser's way in: a link's code, once and within a minute, for a cookie that reads."""

import threading

import httpx
import pytest

from audit.main import run
from audit.serving import links, sessions, tokens
from audit.serving.callers import Caller, still_may
from audit.serving.tokens import Scope
from tests.audit.serving.conftest import Served
from tests.query.stores import StoreWriter


def enter(served: Served, code: str, client: httpx.Client) -> httpx.Response:
    """What the page does with the fragment."""
    return client.post("/v1/session", json={"code": code})


def code_of(served: Served, scope: Scope | None = None) -> str:
    """A code as a link holds it."""
    return sessions.new_code(served.service.store, scope or Scope(), served.clock())


def test_a_code_gives_a_cookie_that_only_our_page_can_use(served: Served) -> None:
    """HttpOnly, SameSite=Strict, 12 h, no Domain; the disk holds hashes."""
    code = code_of(served)
    with served.client("") as client:
        answer = enter(served, code, client)
        assert answer.status_code == 204
        value, *attributes = answer.headers["set-cookie"].split("; ")
        assert sorted(a.lower() for a in attributes) == [
            "httponly", "max-age=43200", "path=/", "samesite=strict",
        ]  # fmt: skip
        me = client.get("/v1/me").json()
    assert (me["kind"], me["name"]) == ("session", "page")
    assert me["scope"] == {"sandboxes": None, "export": False}
    root = served.service.store.root
    kept = b"".join(p.read_bytes() for p in root.glob("control.db*"))
    cookie = value.partition("=")[2].encode()
    assert cookie not in kept
    assert code.encode() not in kept


def test_a_code_is_good_once(served: Served) -> None:
    """Also when two ask at the same moment: one wins."""
    code = code_of(served)
    won: list[str | None] = []
    store, now = served.service.store, served.clock()
    threads = [
        threading.Thread(target=lambda: won.append(sessions.spend(store, code, now)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([cookie for cookie in won if cookie]) == 1
    with served.client("") as client:
        answer = enter(served, code, client)
    assert answer.status_code == 401
    assert answer.json()["error"]["hint"] == "a new link: audit serve link"


@pytest.mark.parametrize(("seconds", "status"), [(59, 204), (60, 401)])
def test_a_code_is_good_for_a_minute(served: Served, seconds: int, status: int) -> None:
    """By the service's clock."""
    code = code_of(served)
    served.clock.move(seconds)
    with served.client("") as client:
        assert enter(served, code, client).status_code == status


def test_a_session_ends_after_twelve_hours(served: Served) -> None:
    """And says how to get another."""
    with served.client("") as client:
        enter(served, code_of(served), client)
        served.clock.move(12 * 3600 - 1)
        assert client.get("/v1/me").status_code == 200
        served.clock.move(1)
        answer = client.get("/v1/me")
    assert answer.status_code == 401
    assert answer.json()["error"]["hint"] == "a new link: audit serve link"


def test_logging_out_ends_the_session_for_who_kept_the_cookie_too(served: Served) -> None:
    """The cookie is forgotten here, not only there."""
    with served.client("") as client:
        enter(served, code_of(served), client)
        cookie = client.cookies["sandtrail_session"]
        assert client.delete("/v1/session").status_code == 204
        assert "sandtrail_session" not in client.cookies
        client.cookies.set("sandtrail_session", cookie)
        assert client.get("/v1/me").status_code == 401


def test_a_token_cannot_log_out(served: Served) -> None:
    """It is revoked instead."""
    with served.client() as client:
        assert client.delete("/v1/session").status_code == 400


def test_a_session_has_the_scope_of_its_link_and_never_exports(served: Served) -> None:
    """Whatever the code's scope says."""
    scope = Scope(sandboxes=("agent-demo",), export=True)
    with served.client("") as client:
        enter(served, code_of(served, scope), client)
        shown = client.get("/v1/me").json()["scope"]
    assert shown == {"sandboxes": ["agent-demo"], "export": False}


@pytest.mark.parametrize(
    "body", [{}, {"code": ""}, {"code": 7}, {"code": "x", "more": 1}, {"code": "x" * 300}, []]
)
def test_what_is_no_code_is_refused_without_repeating_it(served: Served, body: object) -> None:
    """400, and the value is in no text."""
    with served.client("") as client:
        answer = client.post("/v1/session", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E_USAGE")
    assert "xxx" not in answer.text


def test_a_wrong_token_is_not_forgiven_for_a_cookie(served: Served) -> None:
    """Whoever sends Authorization means it."""
    with served.client("") as client:
        enter(served, code_of(served), client)
        answer = client.get("/v1/me", headers={"Authorization": "Bearer nonsense"})
    assert answer.status_code == 401


def test_sessions_and_codes_have_a_bound(store: StoreWriter) -> None:
    """A loop of `serve link` fills no disk; the oldest go first."""
    codes = [sessions.new_code(store.paths, Scope(), n) for n in range(sessions.MAX_CODES + 5)]
    assert sessions.spend(store.paths, codes[0], 200) is None
    assert sessions.spend(store.paths, codes[-1], 200) is not None
    with tokens.reading(store.paths) as con:
        assert con.execute("SELECT count(*) FROM codes").fetchone() == (sessions.MAX_CODES - 1,)


def test_a_stream_can_ask_again_whether_its_caller_still_may(served: Served) -> None:
    """Revoked, expired, logged out, or made anew with another scope: no."""
    store = served.service.store
    found = tokens.find(store, served.make_token("t", "agent-demo"))
    assert found is not None
    caller = Caller("t", found.scope, "token", found.sha256)
    assert still_may(served.service, caller)
    tokens.revoke(store, "t", served.clock())
    assert not still_may(served.service, caller)
    cookie = sessions.spend(store, code_of(served), served.clock())
    session = sessions.find(store, cookie or "", served.clock())
    assert session is not None
    reader = Caller("page", session.scope, "session", session.sha256)
    assert still_may(served.service, reader)
    sessions.end(store, session.sha256)
    assert not still_may(served.service, reader)


def test_a_link_needs_a_page_that_runs(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """The newest that lives; one of a dead process is none."""
    words = ["audit", "--store", str(store.paths.root), "serve", "link"]
    assert run(words) == 2
    assert "no service with a page runs" in capfd.readouterr().err
    links.announce(store.paths, "http://127.0.0.1:1234", 5)
    with tokens.writing(store.paths) as con:
        con.execute("INSERT INTO services VALUES ('http://127.0.0.1:99', 4194304, 9)")
    assert run([*words, "-s", "agent-demo"], now=lambda: 7) == 0
    url = capfd.readouterr().out.strip()
    base, _, code = url.partition("/#code=")
    assert base == "http://127.0.0.1:1234"
    cookie = sessions.spend(store.paths, code, 8)
    session = sessions.find(store.paths, cookie or "", 9)
    assert session is not None
    assert session.scope == Scope(sandboxes=("agent-demo",))
    assert run([*words, "--url", "https://trail.example/"]) == 0
    assert capfd.readouterr().out.startswith("https://trail.example/#code=")
    links.withdraw(store.paths, "http://127.0.0.1:1234")
    assert links.pages(store.paths) == []
