"""Whatever is asked, by the API's own description: no 5xx, and answers that are as described."""

import os
from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import positive_data_acceptance

from audit.serving.service import Limits
from tests.audit.serving.conftest import Served, serving
from tests.audit.serving.trail import full_store

SEED: Final = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
# Those that end by themselves; the live stream has tests of its own.
ENDLESS: Final = "/v1/stream"
EXAMPLES: Final = 5


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a store with everything in it."""
    store = full_store(tmp_path_factory.mktemp("fuzz") / "store")
    with serving(store, Limits(query_s=60.0)) as served:
        yield served
    store.con.close()


def operations(served: Served) -> list[Any]:
    """Every operation of the running service's own description."""
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    found = [made.ok() for made in schema.get_all_operations()]
    return [one for one in found if one.path != ENDLESS]


def fuzz(served: Served, examples: int) -> int:
    """Ask every operation so many things; the number of operations."""
    headers = {"Authorization": f"Bearer {served.token}"}
    every = operations(served)
    for operation in every:
        if (operation.method.upper(), operation.path) == ("DELETE", "/v1/session"):
            continue

        @seed(SEED)
        @settings(
            max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            # A text may be no time, no path or no address, which no schema can say: 400 is right.
            case.call_and_validate(
                base_url=served.url, headers=headers, excluded_checks=[positive_data_acceptance]
            )

        ask()
    return len(every)


def test_no_question_is_answered_with_a_5xx_or_out_of_shape(running: Served) -> None:
    """With auth on; a few questions an operation."""
    assert fuzz(running, EXAMPLES) >= 18


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_no_question_at_all_is(running: Served) -> None:
    """The full figure."""
    assert fuzz(running, 300) >= 18
