"""Which policy was in force for a sandbox at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

# Clocks of a sandbox and of whoever applied its policy differ by less.
DOUBT_US: Final = 2_000_000


class Applied(NamedTuple):
    """One entry of the history; time in µs since 1970."""

    sandbox: str
    from_ts: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The policies of one sandbox: when each begins, and its number (-1: its text is unknown)."""

    begins: Any
    numbers: Any
    changes: Any


class History:
    """The history of every sandbox."""

    def __init__(self, applied: Iterable[Applied] = ()) -> None:
        self._applied = sorted(applied, key=lambda entry: entry.from_ts)

    def numbered(self, numbers: Mapping[str, int]) -> "Numbered":
        """Ready for batches; `numbers` are those of the digests whose text is known."""
        found: dict[str, list[Applied]] = {}
        for entry in self._applied:
            kept = found.setdefault(entry.sandbox, [])
            if not kept or kept[-1].digest != entry.digest:
                kept.append(entry)
        return Numbered(
            {
                sandbox: _Stretch(
                    np.array([entry.from_ts for entry in entries], np.int64),
                    np.array([-1, *(numbers.get(e.digest, -1) for e in entries)], np.int64),
                    # The first policy replaces none.
                    np.array([entry.from_ts for entry in entries[1:]], np.int64),
                )
                for sandbox, entries in found.items()
            }
        )


class Numbered:
    """A history whose policies have numbers."""

    def __init__(self, stretches: Mapping[str, _Stretch]) -> None:
        self._stretches = stretches

    def in_force(self, sandbox: pa.Array, ts: pa.Array, rows: Any) -> tuple[Any, Any]:
        """(number of the policy or -1, whether another was in force within DOUBT_US) by row."""
        which = np.full(len(ts), -1, np.int64)
        doubt = np.zeros(len(ts), bool)
        encoded = sandbox.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        times = ts.cast(pa.int64()).to_numpy()
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            stretch = self._stretches.get(name)
            if stretch is None:
                continue
            mine = np.flatnonzero((codes == code) & rows)
            at = times[mine]
            which[mine] = stretch.numbers[np.searchsorted(stretch.begins, at, "right")]
            if len(stretch.changes):
                near = np.searchsorted(stretch.changes, at - DOUBT_US, "left")
                upto = np.searchsorted(stretch.changes, at + DOUBT_US, "right")
                doubt[mine] = upto > near
        return which, doubt
