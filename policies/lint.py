"""Warnings about a valid policy."""

from dataclasses import dataclass
from typing import Literal

from policies.model import Policy
from policies.yaml_text import Problem


@dataclass(frozen=True, slots=True)
class Finding:
    """One warning or note; `witness` is a path that shows it."""

    level: Literal["warning", "note"]
    code: str
    rule: str
    problem: Problem
    witness: str | None = None


def lint(_policy: Policy) -> list[Finding]:
    """Everything that is odd about a policy, in order."""
    return []
