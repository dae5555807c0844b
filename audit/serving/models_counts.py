"""The shapes of answers that count."""

from typing import Any

from pydantic import BaseModel, Field

from audit.serving.models import TIME, Partial


class Axis(BaseModel):
    """Buckets of time."""

    size_us: int = Field(examples=[300_000_000])


class Bucket(BaseModel):
    """[start, end)."""

    start: str = Field(examples=[TIME])
    end: str


class Group(BaseModel):
    """Events alike in the axes; every record counts as often as it happened."""

    key: list[Any] = Field(examples=[["2026-07-28T09:00:00.000000Z", "deny"]])
    allow: int
    deny: int
    unknown: int
    other: int = Field(description="tool calls and whatever decides nothing")
    runs: int = Field(description="in how many runs")
    first: str | None
    last: str | None


class Counts(Partial):
    """Counts by the axes."""

    axes: list[str] = Field(examples=[["time", "decision"]])
    bucket: Axis | None
    buckets: list[Bucket] = Field(description="every bucket of the time asked for, empty ones too")
    groups: list[Group]
    total: Group
    reports: int = Field(description="records that told what another tells; not counted again")
    searched: int | None = None
    upto: int


class TopValue(BaseModel):
    """A value, and how often."""

    value: Any = Field(examples=["/home/agent/.ssh/id_ed25519"])
    events: int
    allow: int
    deny: int
    first: str | None
    last: str | None


class Top(Partial):
    """The most frequent values of each column."""

    top: dict[str, list[TopValue]]


class ToolStats(BaseModel):
    """How a tool's calls ended and how long they took; µs."""

    key: list[Any]
    calls: int
    ok: int
    timeout: int
    retry: int
    policy_violation: int
    error: int
    timeout_rate: float | None
    p50_us: int | None
    p95_us: int | None
    p99_us: int | None
    max_us: int | None
    runs: int
    first: str | None
    last: str | None


class Latency(BaseModel):
    """How long decisions took; µs."""

    key: list[Any]
    events: int
    p50_us: int | None
    p95_us: int | None
    p99_us: int | None
    max_us: int | None
    runs: int
    first: str | None
    last: str | None


class Redaction(BaseModel):
    """Secrets that were masked, by kind: an event with two kinds stands in both."""

    key: list[Any]
    events: int
    runs: int
    first: str | None
    last: str | None


class Stats(Partial):
    """Time-outs, latency and masking."""

    tools: list[ToolStats]
    latency: list[Latency]
    redactions: list[Redaction]
    secrets: int = Field(description="masked in all")
