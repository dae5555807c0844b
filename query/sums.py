"""Counts of events that can be added up: by decision, with the runs and the time they span."""

from dataclasses import dataclass, field
from typing import Any, Final

Key = tuple[Any, ...]


@dataclass(slots=True)
class Sums:
    """Counts of events by decision, their runs, first and last moment (µs)."""

    allow: int = 0
    deny: int = 0
    unknown: int = 0
    other: int = 0
    runs: frozenset[str] = frozenset()
    first: int | None = None
    last: int | None = None

    @property
    def events(self) -> int:
        """All of them, whatever was decided."""
        return self.allow + self.deny + self.unknown + self.other

    def plus(self, more: "Sums") -> "Sums":
        """Both together."""
        return Sums(
            self.allow + more.allow, self.deny + more.deny, self.unknown + more.unknown,
            self.other + more.other, self.runs | more.runs,
            min((at for at in (self.first, more.first) if at is not None), default=None),
            max((at for at in (self.last, more.last) if at is not None), default=None),
        )  # fmt: skip

    def values(self) -> dict[str, Any]:
        """As `stats` tells a group."""
        return {
            "allow": self.allow, "deny": self.deny, "unknown": self.unknown, "other": self.other,
            "runs": len(self.runs), "first": self.first, "last": self.last,
        }  # fmt: skip


SQL_RUNS: Final = "list(DISTINCT correlation_id)"
SQL_SUMS: Final = ", ".join(
    [
        *(f"coalesce(sum(count) FILTER (WHERE {which}), 0)::BIGINT" for which in (
            "decision = 'allow'", "decision = 'deny'", "decision = 'unknown'", "decision IS NULL",
        )),
        SQL_RUNS, "min(epoch_us(ts))", "max(epoch_us(ts))",
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loose:
    """A report whose event is not in the same file."""

    linked: int | None
    who: str
    key: Key
    sums: Sums


@dataclass(slots=True)
class Partial:
    """What one stretch of the trail adds to the counts."""

    groups: dict[Key, Sums] = field(default_factory=dict)
    doubled: int = 0
    reporters: frozenset[str] = frozenset()
    loose: tuple[Loose, ...] = ()
    # The keys by their counts, where somebody has sorted them.
    ranking: tuple[Key, ...] | None = None

    @property
    def weight(self) -> int:
        """How much of MAX_WEIGHT it takes."""
        return 1 + len(self.loose) + sum(1 + len(sums.runs) for sums in self.groups.values())

    def add(self, more: "Partial") -> None:
        """Take in another one."""
        for key, sums in more.groups.items():
            self.put(key, sums)
        self.doubled += more.doubled
        self.reporters |= more.reporters
        self.loose += more.loose

    def put(self, key: Key, sums: Sums) -> None:
        """Add to one group."""
        held = self.groups.get(key)
        self.groups[key] = sums if held is None else held.plus(sums)
