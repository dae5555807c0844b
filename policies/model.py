"""A sandbox policy as data, and where each of its rules stands in its text."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

API_VERSION: Final = "openclaw.jexmac.com/v2"
KIND: Final = "SandboxPolicy"
# What a rule about paths can speak of; docs/policy-semantics.md maps every verb to one of them.
READ: Final = "read"
WRITE: Final = "write"
BOTH: Final = (READ, WRITE)

FILESYSTEM_DEFAULT: Final = "filesystem.default-deny"
PROCESS_DEFAULT: Final = "process.default-deny"
NETWORK_DEFAULT: Final = "network.default-deny"
DENY_ALL: Final = "network.egress.deny-all"
ALLOW_ALL: Final = "network.egress.allow-all"

# First and last line of a rule in the text, from 1.
Lines = tuple[int, int]
# Line and column, from 1.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PathRule:
    """One entry of `filesystem.allow` or `.deny`; `stated` says that it names accesses."""

    section: Literal["allow", "deny"]
    index: int
    path: str
    access: tuple[str, ...]
    stated: bool
    place: Place
    lines: Lines

    @property
    def name(self) -> str:
        """`filesystem.deny[1]`."""
        return f"filesystem.{self.section}[{self.index}]"


@dataclass(frozen=True, slots=True)
class NameRule:
    """One name of `process.allow`."""

    index: int
    process: str
    place: Place
    lines: Lines

    @property
    def name(self) -> str:
        """`process.allow[0]`."""
        return f"process.allow[{self.index}]"


@dataclass(frozen=True, slots=True)
class HostRule:
    """One destination of `network.egress`; `port` None is any."""

    index: int
    host: str
    port: int | None
    place: Place
    lines: Lines

    @property
    def name(self) -> str:
        """`network.egress[0]`."""
        return f"network.egress[{self.index}]"


@dataclass(frozen=True, slots=True)
class Policy:
    """A valid policy. `egress` None: the section is missing, so nothing is allowed."""

    name: str
    text: str
    allow: tuple[PathRule, ...] = ()
    deny: tuple[PathRule, ...] = ()
    processes: tuple[NameRule, ...] = ()
    egress: Literal["deny-all", "allow-all", "list"] | None = None
    hosts: tuple[HostRule, ...] = ()
    # Where each rule stands; a `…default-deny` where a line that allows would be added.
    lines: Mapping[str, Lines] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """sha256 of the text, 64 hex digits."""
        return digest_of(self.text)


def digest_of(text: str) -> str:
    """sha256 of a policy's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def bare_digest(told: str) -> str:
    """A digest as records tell it, without its algorithm."""
    return told.removeprefix("sha256:").lower()


def spelled(rule: str) -> str:
    """`filesystem.deny.1` as `filesystem.deny[1]`."""
    section, dot, index = rule.rpartition(".")
    return f"{section}[{index}]" if dot and index.isdecimal() else rule
