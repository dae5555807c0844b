"""Output without Python's buffer (PYTHONUNBUFFERED=1): a write that took a part is gone on with."""

import os
import subprocess
from pathlib import Path

from tests.audit.story import StoryStore, file_event
from tests.audit.terminal import command, environment

# Far more than a pipe takes at once.
MANY = 2_000


def test_a_reader_that_leaves_moves_no_cursor(own_store: StoryStore, tmp_path: Path) -> None:
    """`audit export --cursor NAME | head` has not delivered: the next export gives all again."""
    own_store.append(
        [file_event(4932 + n, "18:04:00", "allow", "rg[1]", "read", f"/w/{n}", "x.y[0]", 1)
         for n in range(MANY)]
    )  # fmt: skip
    env = {**environment(own_store.paths.root), "PYTHONUNBUFFERED": "1"}
    words = command(["export", "--format", "ndjson", "--cursor", "siem"])
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as left:
        assert left.stdout is not None
        assert left.stderr is not None
        os.read(left.stdout.fileno(), 100)
        left.stdout.close()
        assert left.stderr.read() == b""
    assert left.returncode == 0
    whole = tmp_path / "whole.ndjson"
    with whole.open("wb") as file:
        again = subprocess.run(words, env=env, stdout=file, stderr=subprocess.PIPE, check=False)
    assert again.returncode == 0
    assert len(whole.read_bytes().splitlines()) == 231 + MANY
