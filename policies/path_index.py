"""Many globs asked at once: the lowest index that covers a path, without trying each.

A literal folder is found by its path, `**/X/**` by its component; only what needs a regular
expression is tried, by the column and only where no lower index is known yet.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from policies.glob import Glob

NONE: Final = 1 << 30
# Of patterns of this form: the index, whether what lies under it is covered too.
_Tail = tuple[str, int, bool]


class PathIndex:
    """Rules by index, ready for many paths; paths are canonical."""

    def __init__(self, rules: Iterable[tuple[int, Glob]]) -> None:
        self._any = NONE
        self._folders: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._tails: dict[str, list[_Tail]] = {}
        self._rest: list[tuple[int, Glob]] = []
        for index, glob in sorted(rules, key=lambda rule: rule[0]):
            self._add(index, glob)
        # Where a folder of a rule may end; few, so that not every parent is looked up.
        self._depths = sorted({path.count("/") + 1 for path in self._folders})

    def _add(self, index: int, glob: Glob) -> None:
        kinds = [kind for kind, _ in glob.clauses]
        text = glob.clauses[0][1] if glob.clauses else ""
        if kinds == ["any"] or (kinds == ["starts"] and text == "/"):
            self._any = min(self._any, index)
        elif kinds == ["is", "starts"]:
            self._folders.setdefault(text, index)
        elif kinds == ["is", "starts", "ends", "holds"] and "/" not in text:
            self._names.setdefault(text, index)
        elif kinds[:1] == ["is"] and "ends" in kinds:
            last = text.rpartition("/")[2]
            self._tails.setdefault(last, []).append((f"/{text}", index, "holds" in kinds))
        else:
            self._rest.append((index, glob))

    @property
    def empty(self) -> bool:
        """Whether there is no rule."""
        found = self._folders or self._names or self._tails or self._rest
        return self._any == NONE and not found

    def lowest(self, paths: Sequence[str]) -> Any:
        """For each path the lowest index of a rule that covers it, else NONE."""
        if self.empty:
            return np.full(len(paths), NONE, np.int64)
        found = np.fromiter((self._quick(path) for path in paths), np.int64, len(paths))
        column: pa.Array | None = None
        for index, glob in self._rest:
            rows = np.flatnonzero(found > index)
            if not len(rows):
                break
            column = pa.array(paths, pa.string()) if column is None else column
            some = column if len(rows) == len(paths) else column.take(pa.array(rows))
            hits = pc.match_substring_regex(some, rf"\A(?:{glob.re2})\z")
            found[rows[hits.to_numpy(zero_copy_only=False)]] = index
        return found

    def _quick(self, path: str) -> int:
        best = self._any
        parts = path.split("/")
        folders = self._folders
        for depth in self._depths:
            if depth > len(parts):
                break
            best = min(best, folders.get("/".join(parts[:depth]), NONE))
        names, tails = self._names, self._tails
        if names and not names.keys().isdisjoint(parts):
            best = min(best, *(names.get(part, NONE) for part in parts))
        if tails and not tails.keys().isdisjoint(parts):
            best = min(best, self._by_tail(path, parts))
        return best

    def _by_tail(self, path: str, parts: Sequence[str]) -> int:
        best = NONE
        for part in parts:
            for text, index, below in self._tails.get(part, ()):
                if path.endswith(text) or (below and f"{text}/" in path):
                    best = min(best, index)
        return best
