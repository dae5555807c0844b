"""The command as it runs: where it may listen, what it says, how it ends."""

import ast
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from audit.main import run
from audit.serving import tokens
from audit.serving.sockets import Place, is_loopback
from audit.serving.tokens import Scope
from tests.audit.serving.process import Process
from tests.audit.terminal import ROOT, Terminal, environment
from tests.query.stores import StoreWriter

EVERYWHERE = "0.0.0.0"  # noqa: S104


def token_of(store: StoreWriter) -> dict[str, str]:
    """The header of a token that may see everything."""
    token = tokens.create(store.paths, "t", Scope(), 1, None)
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "192.0.2.1"])
def test_a_network_is_not_served_in_the_clear(
    store: StoreWriter, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 before anything listens."""
    root = str(store.paths.root)
    assert run(["audit", "--store", root, "serve", "--host", host, "--port", "0"]) == 2
    err = capfd.readouterr().err
    assert f"--host {host}: others could read along" in err
    assert "--tls-cert" in err


def test_loopback_is_what_the_addresses_say() -> None:
    """Not what the name looks like."""
    assert is_loopback("localhost")
    assert is_loopback("127.8.9.1")
    assert is_loopback("::1")
    assert not is_loopback(EVERYWHERE)


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["--tls-cert", "x.pem"], "--tls-cert and --tls-key belong together", 2),
        (["--tls-cert", "/no.pem", "--tls-key", "/no.pem"], "/no.pem: no such file", 3),
        (["--port", "70000"], "--port 70000: 0 to 65535", 2),
        (["--query-time", "0"], "--query-time: at least 1 s", 2),
        (["--query-memory", "1"], "--query-memory: at least 64 MB", 2),
        (["--host", "no-such-host.invalid"], "no such host", 2),
        (["--allow-host", "*"], "--allow-host '*': a name as it stands", 2),
        (["nonsense"], "no such command 'nonsense'", 2),
    ],
)
def test_a_mistake_is_told_before_anybody_is_served(
    store: StoreWriter, words: list[str], message: str, code: int,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """With the exit code of its kind."""
    assert run(["audit", "--store", str(store.paths.root), "serve", *words]) == code
    assert message in capfd.readouterr().err


def test_a_port_that_is_taken_is_told(
    store: StoreWriter, capfd: pytest.CaptureFixture[str]
) -> None:
    """By its number, with a way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["audit", "--store", str(store.paths.root), "serve", "--port", port]) == 2
    err = capfd.readouterr().err
    assert f"127.0.0.1:{port}: Address already in use" in err
    assert "--port 0" in err


def test_without_the_extra_it_says_how_to_install_it(
    store: StoreWriter, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, no traceback; tokens can be made all the same."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    root = str(store.paths.root)
    assert run(["audit", "--store", root, "serve"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.splitlines()) == (
        "",
        [
            "audit: error: this installation has no HTTP service (fastapi is missing)",
            '  hint: pip install "sandtrail[serve]"',
        ],
    )
    assert run(["audit", "--store", root, "serve", "token", "create", "--name", "x"]) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(store: StoreWriter, number: int) -> None:
    """Exit 0, and a log without a link, a token or a query."""
    headers = token_of(store)
    with Process(store.paths.root, ("--port", "0", "--log-requests")) as running:
        url = running.url
        with httpx.Client(base_url=url, headers=headers) as client:
            assert client.get("/v1/me?q=SECRETQUERY").status_code == 400
            assert client.get("/nowhere/SECRETPATH", headers={"Cookie": "a=SECRETCOOKIE"})
            client.post("/v1/session", json={"code": "SECRETCODE"})
            # An idle keep-alive connection does not hold the end up.
            assert running.stop(number) == 0
        assert running.process.stdout is not None
        assert running.process.stdout.read() == ""
        running.heard("stopped")
    said = "\n".join(running.lines)
    assert "t GET /v1/me" in said
    assert "SECRET" not in said
    assert headers["Authorization"].split()[1] not in said
    assert "code=" not in said
    assert not links_left(store)


def links_left(store: StoreWriter) -> list[object]:
    """Pages that are said to run."""
    with tokens.reading(store.paths) as con:
        return con.execute("SELECT * FROM services").fetchall()


def test_a_person_at_a_terminal_gets_a_link(store: StoreWriter) -> None:
    """That lets a browser in; nobody else is shown one."""
    live = Terminal(["serve", "--port", "0"], environment(store.paths.root), 200)
    link = ""
    while not link and live.process.poll() is None:
        said = live.err.decode()
        link = next((w for w in said.split() if "/#code=" in w and said.count("\n") > 2), "")
    url, _, code = link.partition("/#code=")
    with httpx.Client(base_url=url) as client:
        assert client.post("/v1/session", json={"code": code}).status_code == 204
        assert client.get("/v1/me").json()["kind"] == "session"
    live.interrupt()
    seen = live.finish()
    assert seen.code == 0
    assert seen.out == ""


def test_a_unix_socket_is_for_one_account_and_asks_for_a_token(
    store: StoreWriter, tmp_path: Path
) -> None:
    """0600, any Host, gone at the end."""
    headers, path = token_of(store), tmp_path / "run" / "s.sock"
    with Process(store.paths.root, ("--unix", str(path))) as running:
        running.heard(f"unix:{path}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://anything/v1/me").status_code == 401
            assert client.get("http://anything/v1/me", headers=headers).status_code == 200
            origin = {**headers, "Origin": "http://evil.example"}
            assert client.get("http://anything/v1/me", headers=origin).status_code == 403
        assert running.stop() == 0
    assert not path.exists()


def test_a_log_of_its_own_is_opened_anew_and_holds_no_link(
    store: StoreWriter, tmp_path: Path
) -> None:
    """For launchd, and for who rotates."""
    log = tmp_path / "logs" / "serve.log"
    words = ("--port", "0", "--log", str(log), "--log-requests")
    with Process(store.paths.root, words) as running:
        _until(lambda: log.exists() and "serving " in log.read_text())
        url = log.read_text().split()[-1]
        log.rename(tmp_path / "old.log")
        running.process.send_signal(signal.SIGHUP)
        _until(lambda: httpx.get(f"{url}/healthz").status_code == 200 and log.exists())
        assert running.stop() == 0
    assert "GET /healthz 200" in log.read_text()
    assert "code=" not in (tmp_path / "old.log").read_text() + log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_port_and_a_socket_are_served_together(store: StoreWriter, tmp_path: Path) -> None:
    """And end together."""
    path = tmp_path / "run" / "s.sock"
    with Process(store.paths.root, ("--unix", str(path), "--port", "0")) as running:
        assert httpx.get(f"{running.url}/healthz").status_code == 200
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://x/healthz").status_code == 200
        assert running.stop() == 0


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return cert, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_tls_a_network_may_be_served(store: StoreWriter, tmp_path: Path) -> None:
    """The cookie is Secure then; plain HTTP gets no answer; SIGHUP takes a new certificate."""
    cert, key = certificate(tmp_path, "first")
    words = ("--host", EVERYWHERE, "--port", "0", "--tls-cert", str(cert), "--tls-key", str(key))
    with Process(store.paths.root, words) as running:
        port = running.url.rpartition(":")[2]
        url = f"https://127.0.0.1:{port}"
        with httpx.Client(verify=ssl.create_default_context(cafile=str(cert))) as client:
            assert client.get(f"{url}/healthz").status_code == 200
            assert client.get(f"{url}/healthz", headers={"Host": "evil"}).status_code == 421
            done = client.post(f"{url}/v1/session", json={"code": code_of(store)})
            assert "secure" in done.headers["set-cookie"].lower()
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{port}/healthz")
        certificate(tmp_path, "second")
        running.process.send_signal(signal.SIGHUP)
        running.heard("read again")
        with httpx.Client(verify=ssl.create_default_context(cafile=str(cert))) as client:
            assert client.get(f"{url}/healthz").status_code == 200
        assert running.stop() == 0


def code_of(store: StoreWriter) -> str:
    """A code for the real clock."""
    from audit.call import wall_clock
    from audit.serving.sessions import new_code

    return new_code(store.paths, Scope(), wall_clock())


def test_the_hosts_of_a_place() -> None:
    """With the port; without it where a browser leaves it out."""
    hosts = Place(names=("Trail.Example",)).hosts(8484)
    assert {"localhost:8484", "127.0.0.1:8484", "[::1]:8484", "trail.example:8484"} <= hosts
    assert "localhost" not in hosts
    assert "localhost" in Place().hosts(80)
    cert = Path("x")
    assert "localhost" in Place(cert=cert, key=cert).hosts(443)
    assert Place(host="::1").url(7) == "http://[::1]:7"
    assert Place(host=EVERYWHERE, names=("a.example",), cert=cert).url(7) == "https://a.example:7"


@pytest.mark.parametrize("words", [["serve", "--help"], ["serve", "token", "list"]])
def test_only_a_running_service_loads_a_web_framework(store: StoreWriter, words: list[str]) -> None:
    """Help and tokens are at once there, and without the extra."""
    code = (
        "import sys; from audit.main import run; code = run(['audit', *sys.argv[1:]]);"
        "print({m.split('.')[0] for m in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment(store.paths.root), cwd=ROOT,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    loaded = set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert "audit" in loaded
    assert not loaded & {"fastapi", "starlette", "uvicorn", "pydantic", "duckdb", "pyarrow"}
