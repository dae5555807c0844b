"""How commits of the archive carry the sources' positions, for the day that spool.db is lost.

While the streams are few, every commit says where each stands. Thousands of them would make a
commit of a megabyte twice a minute, so then it says which ones moved, and now and then all.
"""

import itertools
import json
from pathlib import Path
from typing import Any, Final

from collector.archive import commit_metadata, log_versions
from collector.spool import merge_streams, merge_streams_list

# Up to this size (about 250 streams) all positions are said every time.
FEW_BYTES: Final = 64 << 10
# Of more, all are said by every fiftieth version: far within what the log's cleaning keeps.
ALL_EVERY_VERSIONS: Final = 50


def words_of_positions(
    streams: str, updates: list[list[Any]], version: int, few_bytes: int = FEW_BYTES
) -> dict[str, Any]:
    """What the commit that becomes `version` says: `streams` (a JSON object) stands after it, and
    `updates` is what moved since the commit before it, in order."""
    if len(streams) <= few_bytes or version % ALL_EVERY_VERSIONS == 0:
        return {"streams": json.loads(streams)}
    return {"moved": json.loads(merge_streams_list([], updates))}


def sealed_streams(log: Path) -> dict[str, dict[str, Any]]:
    """Positions as of the newest seal, from the log alone."""
    known: dict[str, dict[str, Any]] = {}
    moved: list[list[list[Any]]] = []
    for version in reversed(log_versions(log)):
        words = commit_metadata(log, version) or {}
        if "streams" in words:
            known = words["streams"]
            break
        moved.append(words.get("moved", []))
    updates = list(itertools.chain.from_iterable(reversed(moved)))
    streams: dict[str, dict[str, Any]] = json.loads(merge_streams(json.dumps(known), updates))
    return streams
