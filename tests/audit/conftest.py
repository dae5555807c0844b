"""The story's store, made once for readers and anew for tests that write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audit.story import NOW, StoryStore, story


@pytest.fixture(scope="session")
def story_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The story, read by many tests and changed by none."""
    root = tmp_path_factory.mktemp("story") / "store"
    store = StoryStore(root, story())
    store.collector(pid=1, heartbeat=NOW - 1_000_000)
    yield root
    store.close()


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[StoryStore]:
    """The story for one test."""
    store = StoryStore(tmp_path / "store", story())
    yield store
    store.close()
