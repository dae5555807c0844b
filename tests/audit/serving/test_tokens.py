"""Tokens: made once, kept as hashes, compared with all, ended at once."""

import ast
import inspect
import json
import sqlite3
from pathlib import Path

import pytest

from audit.main import run
from audit.serving import sessions, tokens
from audit.serving.access import expiry
from audit.serving.tokens import Scope
from audit_events.errors import StorageError, UsageError
from audit_events.layout import StorePaths
from tests.audit.serving.conftest import Served
from tests.query.stores import StoreWriter

DAY_US = 86_400_000_000


def audit(store: StoreWriter, *words: str, now: int = 10 * DAY_US) -> int:
    """The command, at a day of our choice."""
    return run(["audit", "--store", str(store.paths.root), *words], now=lambda: now)


def test_a_token_is_the_last_word_of_stdout_and_nowhere_else(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """`TOKEN=$(audit serve token create …)`; the disk holds a hash."""
    assert audit(store, "serve", "token", "create", "--name", "ci") == 0
    out, err = capfd.readouterr()
    token = out.split()[-1]
    assert out == f"{token}\n"
    assert token.startswith("sandtrail_")
    assert len(token) == len("sandtrail_") + 43
    assert token not in err
    assert err.startswith("token ci (read, every sandbox, until 1970-04-11T")
    kept = b"".join(p.read_bytes() for p in store.paths.root.glob("control.db*"))
    assert token.encode() not in kept
    assert token[10:].encode() not in kept
    assert tokens.digest(token).encode() in kept


def test_list_tells_scope_and_end_and_no_hash(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """For a person and as JSON."""
    make = ("serve", "token", "create", "--name")
    audit(store, *make, "ci", "--sandbox", "agent-demo", "--expires", "1d")
    audit(store, *make, "siem", "--export", "--expires", "never")
    given = capfd.readouterr().out.split()
    assert audit(store, "serve", "token", "list", now=11 * DAY_US) == 0
    out = capfd.readouterr().out.splitlines()
    assert [line.split()[:2] for line in out] == [["ci", "expired"], ["siem", "live"]]
    assert out[0].endswith("read, agent-demo")
    assert out[1].endswith("never expires  read and export, every sandbox")
    assert audit(store, "serve", "token", "list", "--json") == 0
    text = capfd.readouterr().out
    assert json.loads(text)[0] == {
        "name": "ci", "state": "live", "sandboxes": ["agent-demo"], "export": False,
        "created_at": "1970-01-11T00:00:00.000000Z", "expires_at": "1970-01-12T00:00:00.000000Z",
    }  # fmt: skip
    assert "sandboxes" not in json.loads(text)[1]
    assert not any(tokens.digest(token) in text or token in text for token in given)


def test_a_name_is_used_once_while_it_lives(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """A script that makes a token twice must not end the first in silence."""
    make = ("serve", "token", "create", "--name", "ci")
    assert audit(store, *make) == 0
    assert audit(store, *make) == 2
    assert "audit serve token revoke ci" in capfd.readouterr().err
    assert audit(store, "serve", "token", "revoke", "ci") == 0
    assert capfd.readouterr().err == "token ci revoked\n"
    assert audit(store, "serve", "token", "revoke", "ci") == 0
    assert capfd.readouterr().err == "token ci was revoked before\n"
    assert audit(store, *make) == 0
    assert audit(store, "serve", "token", "revoke", "nobody") == 2


def test_a_sandbox_nobody_saw_is_remarked(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """A slip of the pen would be a token that sees nothing."""
    store.con.execute("INSERT INTO sandboxes VALUES ('agent-demo', 1)")
    words = ("-s", "agent-demo", "-s", "agent-dmeo")
    assert audit(store, "serve", "token", "create", "-n", "x", *words) == 0
    assert "audit: note: no sandbox agent-dmeo was seen" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "a/b"], "--name 'a/b': 1 to 64 of"),
        (["--name", "x", "--expires", "soon"], "--expires soon: no length of time"),
        (["--name", "x", "--expires", "0d"], "--expires 0d: at least 1s"),
        (["--name", "x", "--sandbox", ""], "--sandbox: a name of 1 to 512 bytes"),
        ([], "missing option '--name'"),
    ],
)
def test_a_mistake_is_told(
    store: StoreWriter, words: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, and no token."""
    assert audit(store, "serve", "token", "create", *words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err


def test_expiry_reads_lengths() -> None:
    """In µs from now."""
    assert expiry("1h30m", 5) == 5 + 5400 * 1_000_000
    assert expiry("never", 5) is None
    with pytest.raises(UsageError):
        expiry("-1d", 0)


def test_an_old_control_db_gets_the_tables(store: StoreWriter) -> None:
    """A store of an earlier version has no sessions, codes or services."""
    con = sqlite3.connect(store.paths.control)
    con.execute("CREATE TABLE cursors(name TEXT PRIMARY KEY, seq INTEGER, updated_at INTEGER)")
    con.execute("INSERT INTO cursors VALUES ('nightly', 7, 1)")
    con.commit()
    con.close()
    code = sessions.new_code(store.paths, Scope(), 1)
    assert sessions.spend(store.paths, code, 2) is not None
    with tokens.reading(store.paths) as held:
        assert held.execute("SELECT seq FROM cursors").fetchall() == [(7,)]


def test_reading_an_old_control_db_is_no_failure(store: StoreWriter) -> None:
    """Nobody has a token there, so nobody gets in: 401, not 503."""
    con = sqlite3.connect(store.paths.control)
    con.execute("CREATE TABLE cursors(name TEXT PRIMARY KEY, seq INTEGER, updated_at INTEGER)")
    con.commit()
    con.close()
    assert tokens.find(store.paths, "sandtrail_x") is None
    assert sessions.find(store.paths, "x", 1) is None


def test_a_scope_that_cannot_be_read_gives_no_right(store: StoreWriter) -> None:
    """Not even by a key too much: it may be a later version's restriction."""
    token = tokens.create(store.paths, "x", Scope(), 1, None)
    con = sqlite3.connect(store.paths.control)
    for text in ('{"sandboxes":null,"export":true,"until":"noon"}', "{", '{"sandboxes":"a"}'):
        con.execute("UPDATE tokens SET scope = ?", (text,))
        con.commit()
        with pytest.raises(StorageError):
            tokens.find(store.paths, token)
    con.close()


@pytest.mark.parametrize("function", [tokens.matching, sessions.matching])
def test_every_row_is_compared_in_constant_time(function: object) -> None:
    """compare_digest in a loop over all rows that nothing leaves early; no == on a hash."""
    tree = ast.parse(inspect.getsource(function))  # type: ignore[arg-type]
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    assert len(loops) == 1
    inside = list(ast.walk(loops[0]))
    assert not any(isinstance(n, ast.Break | ast.Return | ast.Compare) for n in inside)
    calls = [ast.unparse(n.func) for n in inside if isinstance(n, ast.Call)]
    assert calls == ["hmac.compare_digest"]
    assert not any(isinstance(n, ast.Compare) for n in ast.walk(tree))


def test_no_statement_looks_a_secret_up_in_an_index() -> None:
    """`WHERE sha256 = ?` only for what was found by comparing."""
    for module in (tokens, sessions):
        text = inspect.getsource(module)
        selects = [
            line for line in text.splitlines() if "SELECT" in line and "WHERE sha256" in line
        ]
        assert [line for line in selects if "= ?" in line] == []


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Bearer sandtrail_" + "A" * 43, "this token is not known here"),
        ("Bearer \xe4\xff", "this token is not known here"),
        ("Bearer", "Authorization: Bearer TOKEN is the only kind known"),
        ("Basic YTpi", "Authorization: Bearer TOKEN is the only kind known"),
    ],
)
def test_a_wrong_token_is_refused(served: Served, header: str, message: str) -> None:
    """401 in the one shape."""
    with served.client("") as client:
        answer = client.get("/v1/me", headers={b"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    error = {"code": "E_UNAUTHENTICATED", "message": message, "status": 401}
    assert answer.json() == {"error": error}


def test_a_token_ends_by_itself_and_by_hand(served: Served) -> None:
    """The next request is refused, and says since when."""
    with served.client(served.make_token("short")) as client:
        assert client.get("/v1/me").json()["name"] == "short"
        served.clock.move(86_399)
        assert client.get("/v1/me").status_code == 200
        served.clock.move(1)
        assert (
            client.get("/v1/me")
            .json()["error"]["message"]
            .startswith("this token is expired since 2026-07-29T09:04")
        )
    with served.client(served.make_token("other")) as client:
        assert client.get("/v1/me").status_code == 200
        tokens.revoke(served.service.store, "other", served.clock())
        assert client.get("/v1/me").json()["error"]["message"].startswith("this token is revoked")


def test_every_route_that_is_not_open_refuses_who_is_not_known(served: Served) -> None:
    """All routes of the application, all methods, and paths that are none."""
    paths = served.server.config.app.openapi()["paths"]  # type: ignore[union-attr]
    asked = [(method, path) for path, methods in paths.items() for method in methods]
    assert len(asked) > 3
    with served.client("") as client:
        for method, path in [*asked, ("get", "/v1/none"), ("get", "/docs"), ("put", "/v1/me")]:
            answer = client.request(method, path.replace("{", "").replace("}", ""))
            if path == "/healthz":
                assert answer.status_code == 200
            else:
                assert answer.status_code in (401, 400), path
                assert (answer.status_code == 400) == ((method, path) == ("post", "/v1/session"))


def test_a_scoped_token_reads_its_scope(served: Served) -> None:
    """And /metrics, which counts what all ask, is not for it."""
    with served.client(served.make_token("demo", "agent-demo")) as client:
        assert client.get("/v1/me").json()["scope"] == {
            "sandboxes": ["agent-demo"],
            "export": False,
        }
        answer = client.get("/metrics")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "E_SCOPE")


def test_a_store_of_one_account_stays_of_one_account(store: StoreWriter) -> None:
    """control.db is 0600, whoever makes it."""
    tokens.create(store.paths, "x", Scope(), 1, None)
    assert store.paths.control.stat().st_mode & 0o777 == 0o600


def test_tokens_need_a_store_with_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A read socket answers other questions."""
    socket = f"unix:{tmp_path / 'r.sock'}"
    assert run(["audit", "--store", socket, "serve", "token", "list"]) == 2
    assert run(["audit", "--store", str(tmp_path / "none"), "serve", "token", "list"]) == 5
    assert StorePaths(tmp_path / "none").control.exists() is False


def test_our_own_redactor_knows_our_tokens(store: StoreWriter) -> None:
    """A token that an agent's command line held does not get into the trail."""
    from policies.redact.engine import Redactor
    from policies.redact.fingerprint import FingerprintKey
    from policies.redact.rules import ALL_RULES

    redactor = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))
    for number in range(20):
        token = tokens.create(store.paths, f"t{number}", Scope(), 1, None)
        for text in (f"curl {token} x", f"/tmp/{token}/f", f'["x","--t={token}"]'):
            masked, _ = redactor.redact_text(text)
            assert token not in masked
            assert "[REDACTED:sandtrail-token:" in masked
