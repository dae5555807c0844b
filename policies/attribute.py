"""Which rule decided, for whole batches: once for each distinct path, destination or program.

The bulk form of decide.py. What a record says of itself is never overwritten;
docs/policy-semantics.md lists what is filled and what is flagged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from policies.bulk import UNKNOWN, Bulk, Rules
from policies.decide import EXEC, NEEDS, Operation
from policies.history import History
from policies.hosts import split_host
from policies.model import FILESYSTEM_DEFAULT, Policy, bare_digest

# Whose paths are those of macOS, whatever machine collects them; and whose are not.
MACOS_ENFORCERS: Final = ("seatbelt", "system-policy", "santa")
LINUX_ENFORCERS: Final = (
    "landlock",
    "apparmor",
    "selinux",
    "seccomp",
    "seccomp-notify",
    "fanotify",
)
OUR_SECTIONS: Final = ("filesystem.", "process.", "network.")
BASELINE: Final = "builtin.baseline."
MISMATCH: Final = "rule-mismatch"
AMBIGUOUS: Final = "policy-ambiguous"
_READ_CLASS, _WRITE_CLASS, _OTHER_CLASS = 1, 2, 3
_OTHER_COLUMNS: Final = (
    "resource", "access", "path", "path_to", "dst", "dst_host", "dst_port",
)  # fmt: skip
Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class _Told:
    """What the records of a batch say themselves, row by row."""

    allows: Bools
    denies: Bools
    asked: Bools
    reported: Bools


class Attributor:
    """Knows every policy by digest and when each was in force; decides batches."""

    def __init__(
        self, policies: Mapping[str, Policy], history: History, *, macos: bool = False
    ) -> None:
        self._digests = list(policies)
        self._policies = list(policies.values())
        self._numbers = {digest: number for number, digest in enumerate(self._digests)}
        self._history = history.numbered(self._numbers)
        self._macos = macos
        self._rules = Rules()
        self._bulk: dict[tuple[int, bool], Bulk] = {}

    def attribute(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with policy, rule and flags filled where the policy in force says so."""
        if not self._policies or not batch.num_rows:
            return batch
        which, ambiguous = self._which(batch)
        known = which >= 0
        if not known.any():
            return batch
        batch = self._named(batch, which)
        codes = self._codes(batch, which)
        told = _told(batch)
        derived, mismatch = self._judged(batch, codes, told, ambiguous)
        batch = self._with_rules(batch, derived)
        batch = flagged(batch, ambiguous & known, AMBIGUOUS)
        return flagged(batch, mismatch, MISMATCH)

    def _which(self, batch: pa.RecordBatch) -> tuple[Ints, Bools]:
        """The number of the policy in force for each row, -1 where none is known."""
        rows = batch.num_rows
        which = np.full(rows, -1, np.int64)
        ambiguous = np.zeros(rows, bool)
        told = _mask(pc.is_valid(batch["policy_digest"]))
        decisions = _mask(pc.equal(batch["kind"], pa.scalar("decision", pa.string())))
        if told.any():
            codes, digests = _encoded(batch["policy_digest"])
            numbers = [self._numbers.get(bare_digest(d), -1) for d in digests]
            which[told] = np.array([*numbers, -1], np.int64)[codes[told]]
        silent = decisions & ~told
        if silent.any():
            found, doubt = self._history.in_force(batch["sandbox"], batch["ts"], silent)
            which[silent], ambiguous = found[silent], doubt
            which[silent & self._others_name(batch, which)] = -1
        which[~decisions] = -1
        return which, ambiguous

    def _others_name(self, batch: pa.RecordBatch, which: Ints) -> Bools:
        """Rows that name a policy which is not the one of the history."""
        names = batch["policy"]
        if names.null_count == len(names):
            return np.zeros(len(names), bool)
        ours = self._take([policy.name for policy in self._policies], which)
        return _mask(pc.not_equal(names, ours))

    def _take(self, texts: Sequence[str], numbers: Ints) -> pa.Array:
        """texts[number] of each row, null for -1."""
        indices = pa.array(numbers, mask=numbers < 0)
        return pa.array(texts, pa.string()).take(indices)

    def _named(self, batch: pa.RecordBatch, which: Ints) -> pa.RecordBatch:
        names = self._take([policy.name for policy in self._policies], which)
        batch = _with(batch, "policy", pc.coalesce(batch["policy"], names))
        digests = self._take(self._digests, which)
        return _with(batch, "policy_digest", pc.coalesce(batch["policy_digest"], digests))

    def _judge(self, number: int, macos: bool) -> Bulk:
        key = (number, macos)
        if key not in self._bulk:
            self._bulk[key] = Bulk(self._policies[number], self._rules, macos=macos)
        return self._bulk[key]

    def _codes(self, batch: pa.RecordBatch, which: Ints) -> Ints:
        """The code of the rule that the policy names for each row, UNKNOWN where it names none."""
        codes = np.full(batch.num_rows, UNKNOWN, np.int64)
        classes = _classes(batch)
        classes[which < 0] = 0
        systems = self._systems(batch)
        groups = (which * 2 + systems) * 4 + classes
        for group in np.unique(groups[classes > 0]).tolist():
            rows = np.flatnonzero(groups == group)
            bulk = self._judge(group // 8, bool(group // 4 % 2))
            if group % 4 == _OTHER_CLASS:
                codes[rows] = _others(batch, rows, bulk)
            else:
                need = "read" if group % 4 == _READ_CLASS else "write"
                some = batch["path"].take(pa.array(rows))
                indices, paths = _encoded(some)
                codes[rows] = np.array(bulk.paths(paths, need), np.int64)[indices]
        return codes

    def _systems(self, batch: pa.RecordBatch) -> Ints:
        """1 where paths are those of macOS."""
        codes, names = _encoded(batch["enforcer"])
        macos = [
            name in MACOS_ENFORCERS or (self._macos and name not in LINUX_ENFORCERS)
            for name in names
        ]
        return np.array([*macos, self._macos], np.int64)[codes]

    def _judged(
        self, batch: pa.RecordBatch, codes: Ints, told: _Told, ambiguous: Bools
    ) -> tuple[Ints, Bools]:
        """(code of the derived rule or UNKNOWN, whether record and policy disagree)."""
        rules = self._rules
        decided = (codes >= 0) & ~told.asked
        denies = rules.denying()[codes] & decided
        by_line = rules.by_line()[codes] & denies
        agree = np.where(denies, told.denies, told.allows) & decided
        mismatch = self._contradicted(batch, codes, told, agree, by_line) & decided & ~ambiguous
        silent = ~told.reported
        derived = np.where(silent & agree, codes, UNKNOWN)
        derived = np.where(silent & mismatch, codes, derived)
        default = decided & silent & told.allows & (codes == rules.code(FILESYSTEM_DEFAULT))
        if default.any():
            need = np.where(_classes(batch) == _READ_CLASS, *map(rules.code, _BASELINES))
            derived = np.where(default, need, derived)
        return derived, mismatch

    def _contradicted(
        self, batch: pa.RecordBatch, codes: Ints, told: _Told, agree: Bools, by_line: Bools
    ) -> Bools:
        broken: Bools = by_line & told.allows & ~told.reported
        if not told.reported.any():
            return broken
        names, texts = _encoded(batch["policy_rule"])
        ours = [text.startswith(OUR_SECTIONS) for text in texts]
        baseline = [text.startswith(BASELINE) for text in texts]
        same = np.array([*(self._rules.find(text) for text in texts), UNKNOWN], np.int64)[names]
        speaks = np.array([*ours, False], bool)[names]
        builtin = np.array([*baseline, False], bool)[names]
        clear = told.allows | told.denies
        broken |= speaks & ((same != codes) | (clear & ~agree))
        broken |= builtin & by_line & told.allows
        # What was taken from the record of the layer is compared there.
        linked = _mask(pc.equal(batch["rule_origin"], pa.scalar("linked", pa.string())))
        return broken & ~linked

    def _with_rules(self, batch: pa.RecordBatch, derived: Ints) -> pa.RecordBatch:
        rows = derived >= 0
        if not rows.any():
            return batch
        rules = self._rules
        indices = pa.array(derived, mask=~rows)
        for name, values in (
            ("policy_rule", pa.array(rules.names, pa.string())),
            ("rule_section", pa.array(rules.sections, pa.string())),
            ("rule_index", pa.array(rules.indices, pa.int32())),
            ("rule_origin", pa.array(["derived"] * len(rules.names), pa.string())),
        ):
            batch = _with(batch, name, pc.coalesce(batch[name], values.take(indices)))
        return batch


_BASELINES: Final = (f"{BASELINE}read", f"{BASELINE}write")


def _told(batch: pa.RecordBatch) -> _Told:
    allow = _mask(pc.equal(batch["decision"], pa.scalar("allow", pa.string())))
    deny = _mask(pc.equal(batch["decision"], pa.scalar("deny", pa.string())))
    flags = batch["flags"]
    none = np.zeros(len(flags), bool)
    only_told, asked = none, none
    if flags.null_count < len(flags):
        only_told = _mask(pc.match_substring(flags, "would-deny"))
        asked = _mask(pc.match_substring(flags, "asked"))
    return _Told(
        allow & ~only_told,
        deny | (allow & only_told),
        asked,
        _mask(pc.is_valid(batch["policy_rule"])),
    )


def _classes(batch: pa.RecordBatch) -> Ints:
    """How each row is decided: by its path for reading, for writing, otherwise, not at all (0)."""
    accesses, verbs = _encoded(batch["access"])
    resources, names = _encoded(batch["resource"])
    needs = {"read": _READ_CLASS, "write": _WRITE_CLASS}
    verb = np.array([*(needs.get(NEEDS.get(v, ""), 0) for v in verbs), 0], np.int64)[accesses]
    runs = np.array([*(v == EXEC for v in verbs), False], bool)[accesses]
    files = np.array([*(n == "filesystem" for n in names), False], bool)[resources]
    network = np.array([*(n == "network" for n in names), False], bool)[resources]
    classes = np.where(files, verb, 0)
    path, path_to = (_mask(pc.is_valid(batch[name])) for name in ("path", "path_to"))
    classes[files & path_to & (verb > 0)] = _OTHER_CLASS
    classes[files & ~path & ~path_to] = 0
    classes[network | runs] = _OTHER_CLASS
    return classes


def _others(batch: pa.RecordBatch, rows: Ints, bulk: Bulk) -> Ints:
    """The codes of rows that are no plain path, once for each distinct operation."""
    take = pa.array(rows)
    columns = [batch[name].take(take) for name in _OTHER_COLUMNS]
    keys = np.zeros(len(rows), np.int64)
    for column in columns:
        codes = _encoded_codes(column)
        _, keys = np.unique(keys * (int(codes.max()) + 1) + codes, return_inverse=True)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    some = pa.array(first)
    records = zip(*(column.take(some).to_pylist() for column in columns), strict=True)
    answers = [bulk.other(operation_of(*record)) for record in records]
    return np.array(answers, np.int64)[inverse]


def operation_of(
    resource: str, access: str | None, path: str | None, path_to: str | None,
    dst: str | None, host: str | None, port: int | None,
) -> Operation:  # fmt: skip
    """An operation from the columns of an event."""
    if host is None and dst is not None:
        host, port = split_host(dst)
    return Operation(resource, access, path, path_to, host, port)


def flagged(batch: pa.RecordBatch, rows: Bools, flag: str) -> pa.RecordBatch:
    """The batch with a flag added to some rows, once for each distinct list of flags."""
    if not rows.any():
        return batch
    codes, texts = _encoded(batch["flags"])
    old: list[str | None] = [*texts, None]
    new = [",".join(sorted({*(text or "").split(","), flag} - {""})) for text in old]
    picked = np.where(rows, codes + len(old), codes)
    return _with(batch, "flags", pa.array([*old, *new], pa.string()).take(pa.array(picked)))


def _encoded(column: pa.Array) -> tuple[Ints, list[Any]]:
    """(code of each row, distinct values); null has the code behind the last value."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(values))
    return indices.to_numpy().astype(np.int64), values


def _encoded_codes(column: pa.Array) -> Ints:
    encoded = column.dictionary_encode()
    codes = encoded.indices.fill_null(len(encoded.dictionary))
    return codes.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _mask(column: pa.Array) -> Bools:
    """A boolean column, null as false."""
    column = column.fill_null(False) if column.null_count else column
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _with(batch: pa.RecordBatch, name: str, array: pa.Array) -> pa.RecordBatch:
    return batch.set_column(EVENT_SCHEMA.get_field_index(name), EVENT_SCHEMA.field(name), array)
