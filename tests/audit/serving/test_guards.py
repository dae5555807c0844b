"""Whoever asks wrongly is refused with the documented body, under our headers."""

import socket
import time
from collections.abc import Iterator

import pytest
from starlette.responses import StreamingResponse

from audit.serving.guards import HEADERS
from audit.serving.service import Limits
from tests.audit.serving import raw
from tests.audit.serving.conftest import Served, rows, serving
from tests.query.stores import StoreWriter, build


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all that only ask."""
    writer = build(tmp_path_factory.mktemp("guards") / "store", rows(), sealed=30)
    with serving(writer) as running:
        yield running
    writer.con.close()


@pytest.fixture
def hasty(store: StoreWriter) -> Iterator[Served]:
    """A server that waits for nobody."""
    with serving(store, Limits(head_s=0.3, body_s=0.3, reader_s=0.3, connections=3)) as running:
        yield running


@pytest.mark.parametrize("path", ["/healthz", "/", "/v1/me", "/nothing", "/v1/session"])
def test_every_answer_has_the_headers_of_a_page_that_trusts_nobody(
    served: Served, path: str
) -> None:
    """Refusals and mistakes too."""
    with served.client() as client:
        answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] in ("no-store", "no-cache")
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


def test_a_bug_says_type_and_place_and_no_payload(served: Served) -> None:
    """500 in the one shape, and nothing of the text in the answer or the log."""

    def broken() -> None:
        raise KeyError("payload SECRET")

    served.server.config.app.add_api_route("/v1/broken", broken)  # type: ignore[union-attr]
    with served.client() as client:
        answer = client.get("/v1/broken?q=PARAM")
    assert answer.status_code == 500
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    error = answer.json()["error"]
    assert error["code"] == "E_BUG"
    assert error["message"] == f"internal error: KeyError at test_guards.py:{_line_of('raise K')}"
    assert f"error: {error['message']}" in served.log
    assert not any("SECRET" in line or "PARAM" in line for line in served.log)


def _line_of(text: str) -> int:
    lines = open(__file__).read().splitlines()  # noqa: PTH123, SIM115
    return next(n for n, line in enumerate(lines, 1) if line.strip().startswith(text))


@pytest.mark.parametrize("path", ["/", "/web/index.html"])
def test_the_page_needs_no_token_and_is_asked_for_again(served: Served, path: str) -> None:
    """It holds nothing of the trail; after an upgrade nobody sees the old one."""
    with served.client("") as client:
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["content-type"].startswith("text/html")
        again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path",
    ["/web/../app.py", "/web/%2e%2e/app.py", "/web//etc/passwd", "/web/..%2fapp.py", "/web/"],
)
def test_the_page_s_folder_is_the_end_of_the_world(served: Served, path: str) -> None:
    """No file beside it."""
    got = raw.request(served.port, f"GET {path}")
    assert (got.status, got.error["code"]) == (404, "E_NOT_FOUND")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.nip.io"]
)
def test_a_name_that_was_pointed_here_is_refused(served: Served, host: str) -> None:
    """DNS rebinding: the browser thinks that it speaks to another server."""
    got = raw.request(served.port, "GET /v1/me", served.token, Host=host.format(port=served.port))
    assert (got.status, got.error["code"]) == (421, "E_HOST")
    assert "content-security-policy" in got.headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_our_own_names_are_answered(served: Served, host: str) -> None:
    """With our port."""
    got = raw.request(served.port, "GET /v1/me", served.token, Host=f"{host}:{served.port}")
    assert got.status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_page_of_another_origin_is_refused(served: Served, origin: str) -> None:
    """Whatever it carries, and for logging in too."""
    given = origin.format(port=served.port)
    for line in ("GET /v1/me", "POST /v1/session", "GET /healthz"):
        got = raw.request(served.port, line, served.token, Origin=given)
        assert (got.status, got.error["code"]) == (403, "E_ORIGIN")


def test_our_own_origin_may(served: Served) -> None:
    """The page's own requests carry it."""
    given = f"http://127.0.0.1:{served.port}"
    assert raw.request(served.port, "GET /v1/me", served.token, Origin=given).status == 200


def test_no_preflight_is_granted(served: Served) -> None:
    """There is no CORS: a browser asks and hears no."""
    got = raw.request(served.port, "OPTIONS /v1/me", Origin="http://evil.example")
    assert got.status == 403
    assert not any(name.startswith("access-control") for name in got.headers)


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("GET /v1/me?" + "x" * 8300, {}, 414),
        ("GET /v1/me?" + "x" * 40_000, {}, 414),
        ("GET /v1/me", {"X": "x" * 20_000}, 431),
        ("POST /v1/session", {"Content-Length": "5000"}, 413),
        ("GET /v1/me", {"Content-Length": "99999999999"}, 413),
    ],
)
def test_what_is_too_large_is_refused(
    served: Served, line: str, headers: dict[str, str], status: int
) -> None:
    """URL, head and body, before anybody is asked who it is."""
    got = raw.request(served.port, line, **headers)
    assert (got.status, got.error["code"]) == (status, "E_TOO_LARGE")
    assert got.headers["connection"] == "close" or status == 414


def test_a_body_that_does_not_say_how_long_it_is_has_the_same_bound(served: Served) -> None:
    """Chunks are counted as they come."""
    head = f"POST /v1/session HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    chunk = b"fff\r\n" + b" " * 0xFFF + b"\r\n"
    data = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 2
    got = raw.say(served.port, data)
    assert (got.status, got.error["code"]) == (413, "E_TOO_LARGE")


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
def test_what_is_no_http_is_refused(served: Served, data: bytes) -> None:
    """TLS on a plain port; a request without Host."""
    got = raw.say(served.port, data)
    assert (got.status, got.error["code"]) == (400, "E_USAGE")


def test_a_head_that_drips_is_ended(hasty: Served) -> None:
    """The deadline is for the whole head: each byte that comes does not move it."""
    began = time.monotonic()
    with raw.connect(hasty.port) as sock:
        sock.settimeout(0.05)
        data = b""
        for byte in b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 100:
            try:
                sock.sendall(bytes([byte]))
                if data := sock.recv(65536):
                    break
            except TimeoutError:
                continue
        sock.settimeout(5)
        got = raw.heard(data + raw.read_all(sock))
    assert (got.status, got.error["code"]) == (408, "E_SLOW")
    assert time.monotonic() - began < 5


def test_a_second_head_has_the_same_deadline(hasty: Served) -> None:
    """On a connection that was answered before."""
    whole = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{hasty.port}\r\n\r\n".encode()
    with raw.connect(hasty.port) as sock:
        sock.sendall(whole)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
        sock.sendall(whole[:-4])
        got = raw.heard(raw.read_all(sock))
    assert got.status == 408


def test_who_connects_and_says_nothing_is_let_go(hasty: Served) -> None:
    """Without a word."""
    with raw.connect(hasty.port) as sock:
        assert raw.read_all(sock) == b""


def test_a_body_that_drips_is_ended(hasty: Served) -> None:
    """Announced and never sent."""
    got = raw.request(hasty.port, "POST /v1/session", Content_Length="100")
    assert (got.status, got.error["code"]) == (408, "E_SLOW")


def test_a_reader_that_takes_nothing_is_let_go(hasty: Served) -> None:
    """It must not hold an answer's memory for ever; the answer is then cut off."""
    ended = []

    def flood() -> StreamingResponse:
        async def pieces():  # type: ignore[no-untyped-def]
            try:
                for _ in range(1000):
                    yield b"x" * 65536
            finally:
                ended.append(True)

        return StreamingResponse(pieces())

    hasty.server.config.app.add_api_route("/v1/flood", flood)  # type: ignore[union-attr]
    head = f"GET /v1/flood HTTP/1.1\r\nHost: 127.0.0.1:{hasty.port}\r\n"
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(20)
        sock.connect(("127.0.0.1", hasty.port))
        sock.sendall(f"{head}Authorization: Bearer {hasty.token}\r\n\r\n".encode())
        _until(lambda: bool(ended))
        assert len(raw.read_all(sock)) < 1000 * 65536


def test_connections_have_a_bound(hasty: Served) -> None:
    """The one too many hears 503 and when to come again."""
    held = [raw.connect(hasty.port) for _ in range(3)]
    _until(lambda: len(hasty.server.server_state.connections) == 3)
    got = raw.say(hasty.port, b"")
    for sock in held:
        sock.close()
    assert (got.status, got.error["code"]) == (503, "E_BUSY")
    assert got.headers["retry-after"] == "2"


def _until(true) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
