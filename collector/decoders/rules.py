"""The parts of a rule's name: `filesystem.allow[0]` is section `filesystem.allow`, index 0."""

import re
from typing import Final

import pyarrow as pa

# A name without brackets (`network.egress.deny-all`) is its own section and has no index.
_RULE: Final = re.compile(r"(.+?)\[(\d{1,9})\]", re.DOTALL | re.ASCII)


def split(rule: str) -> tuple[str, int | None]:
    """Section and index of one rule's name."""
    match = _RULE.fullmatch(rule)
    return (match[1], int(match[2])) if match else (rule, None)


def split_rules(rules: pa.Array) -> tuple[pa.Array, pa.Array]:
    """`rule_section` and `rule_index` (int32) of a column; worked out once a distinct value."""
    coded = rules.dictionary_encode()
    parts = [split(rule) for rule in coded.dictionary.to_pylist()]
    sections = pa.array([section for section, _ in parts], pa.string())
    indexes = pa.array([index for _, index in parts], pa.int32())
    return sections.take(coded.indices), indexes.take(coded.indices)
