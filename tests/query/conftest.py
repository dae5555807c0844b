"""Stores for the tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.query.stores import StoreWriter, build

MakeStore = Callable[..., StoreWriter]


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[MakeStore]:
    """A function (rows, sealed=0, batch=7) -> StoreWriter; every call makes a store of its own."""
    made: list[StoreWriter] = []

    def make(rows: Any, sealed: int = 0, batch: int = 7) -> StoreWriter:
        made.append(build(tmp_path / f"store-{len(made)}", rows, sealed, batch))
        return made[-1]

    yield make
    for writer in made:
        writer.con.close()
