"""The service answers, to those it knows."""

import httpx

from tests.audit.serving.conftest import Served


def test_health_needs_no_token_and_everything_else_does(served: Served) -> None:
    """A forgotten guard on a route would be seen here: routes are taken from the application."""
    with served.client("") as nobody:
        assert nobody.get("/healthz").json() == {"status": "ok"}
        answer = nobody.get("/v1/me")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "E_UNAUTHENTICATED"


def test_a_token_says_who_asks(client: httpx.Client) -> None:
    """And whom."""
    found = client.get("/v1/me").json()
    assert (found["name"], found["kind"], found["store"]) == ("everything", "token", "7kq2m")
    assert found["scope"] == {"sandboxes": None, "export": True}
