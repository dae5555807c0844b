"""The shapes of answers, as OpenAPI tells them; the answers themselves are made without them."""

from typing import Any, Final

from pydantic import BaseModel, Field, create_model

from audit.serving.negotiate import ARROW
from audit_events.schema import COLUMNS

TIME: Final = "2026-07-28T09:03:12.481000Z"
_EXAMPLE: Final[dict[str, Any]] = {
    "event_id": "7kq2m-4712", "store": "7kq2m", "seq": 4712, "ts": TIME, "observed_at": TIME,
    "kind": "decision", "source": "openclaw", "format": "native", "source_position": 40960,
    "host": "mini-tokyo-07", "sandbox": "agent-demo", "correlation_id": "7f3a91c2",
    "enforcer": "openclaw", "syscall": "open", "resource": "filesystem", "access": "read",
    "decision": "deny", "path": "/home/agent/.ssh/id_ed25519", "process": "node", "pid": 4021,
    "policy": "agent-readonly", "policy_digest": "9c1e…", "policy_rule": "filesystem.deny[1]",
    "rule_section": "filesystem.deny", "rule_index": 1, "rule_origin": "reported", "count": 1,
    "redactions": 0,
}  # fmt: skip
_TYPES: Final[dict[str, Any]] = {"string": str, "timestamp": str, "int32": int, "int64": int}

_FIELDS: Final[dict[str, Any]] = {
    "event_id": (str | None, Field(default=None, description="store and seq")),
    **{
        column.name: (
            _TYPES[column.type] | None,
            Field(default=None, description=column.meaning),
        )
        for column in COLUMNS
    },
}
Event: Any = create_model("Event", __doc__="An event; what is not known is left out.", **_FIELDS)
Event.model_config["json_schema_extra"] = {"example": _EXAMPLE}


class Gap(BaseModel):
    """A stretch in which a source's record is incomplete; an open one has no `until`."""

    id: int
    kind: str = Field(examples=["gap"])
    source: str = Field(examples=["unified-log"])
    first: str = Field(examples=[TIME])
    until: str | None = None
    reason: str = Field(examples=["no rights"])
    count: int | None = Field(default=None, description="records lost, where that is known")
    seq: int | None = Field(default=None, description="its event, once it is closed")


class Damaged(BaseModel):
    """An archive file that could not be read: its events are missing from the answer."""

    path: str
    rows: int | None = Field(default=None, description="told to who may see every sandbox")


class Partial(BaseModel):
    """What makes an answer doubtful."""

    gaps: list[Gap]
    damaged: list[Damaged]


class Events(Partial):
    """A page of events."""

    events: list[Event]
    more: bool = Field(description="whether more match beyond this page")
    next: str | None = Field(description="the next page, as a path")
    upto: int = Field(description="the newest seq when this was read: where a stream goes on")
    searched: int | None = Field(
        default=None, description="rows looked at; told to who may see every sandbox"
    )
    notes: list[str] = Field(description="what had to be said about the question")


class Lines(BaseModel):
    """Lines of a policy as it was then."""

    name: str = Field(description="the policy's file, or its name", examples=["agent.yaml"])
    first_line: int = Field(examples=[16])
    lines: list[str]
    marked: list[int] | None = Field(
        description="first and last line of the rule", examples=[[17, 17]]
    )


class Flip(BaseModel):
    """What would turn the decision over."""

    words: str = Field(examples=["add below line 9"])
    lines: list[str] = Field(description="lines of policy text to put there")
    advice: str | None = None


class Explanation(BaseModel):
    """Which rule decided, and why."""

    decision: str | None = None
    rule: str | None = None
    origin: str | None = Field(default=None, description="who named the rule")
    policy: str | None = None
    policy_digest: str | None = None
    why: str | None
    yaml: Lines | None
    flip: Flip | None
    text: list[str] = Field(description="the page of `audit explain`")


class OneEvent(BaseModel):
    """An event, who else reported it, and its explanation."""

    event: Event
    reports: list[Event]
    explanation: Explanation


class Neighbours(Partial):
    """Events stored just before and after one, in seq order, itself among them."""

    events: list[Event]


class Run(BaseModel):
    """What ran, and what was refused in it."""

    correlation_id: str = Field(examples=["7f3a91c2"])
    host: str
    sandbox: str
    first: str
    last: str
    first_seq: int
    last_seq: int
    allow: int
    deny: int
    other: int
    most_refused: str | None = None
    live: bool
    gaps: int


class Runs(BaseModel):
    """The newest runs, the newest first."""

    runs: list[Run]
    more: bool
    outside: int = Field(description="processes outside any sandbox, left out")
    gaps: list[Gap]


class StoryRun(BaseModel):
    """The run of a story."""

    correlation_id: str
    host: str
    sandbox: str
    first: str
    last: str
    first_seq: int
    last_seq: int


class Story(BaseModel):
    """A run as steps and gaps, in order of time."""

    run: StoryRun
    policies: list[dict[str, str]]
    allow: int
    deny: int
    unknown: int
    other: int
    secrets: int
    complete: bool
    more: bool
    damaged: list[Damaged]
    steps: list[dict[str, Any]]


class Sandbox(BaseModel):
    """A sandbox that was seen."""

    sandbox: str = Field(examples=["agent-demo"])
    last: str
    runs: int


class Sandboxes(BaseModel):
    """Those in scope, the most recent first."""

    sandboxes: list[Sandbox]


class Gaps(BaseModel):
    """Oldest first."""

    gaps: list[Gap]


class Status(BaseModel):
    """Whether everything is at work and nothing is missing."""

    verdict: str = Field(examples=["so: the record of the last 24 h is complete"])
    healthy: bool
    collector: dict[str, Any] = Field(examples=[{"state": "running", "pid": 812}])
    sources: list[dict[str, Any]] = Field(examples=[[{"name": "openclaw", "state": "healthy"}]])
    gaps: list[Gap] = Field(description="of the last 24 hours")
    store: str
    host: str
    version: str
    waiting: dict[str, Any] | None = Field(default=None, description="not yet in the archive")
    archive: dict[str, Any] | None = None
    completeness: dict[str, Any] | None = None
    exports: list[dict[str, Any]] | None = None


class Policy(BaseModel):
    """A policy that was in force, and what its rules were worth."""

    name: str = Field(examples=["agent-readonly"])
    digest: str
    sandboxes: list[str]
    # `from` is a word of Python.
    since: str | None = Field(alias="from", examples=[TIME])
    rules: int
    hits: int
    never_hit: int


class Policies(BaseModel):
    """The newest first."""

    policies: list[Policy]


class RuleHits(BaseModel):
    """A rule and how often it decided."""

    rule: str = Field(examples=["filesystem.deny[1]"])
    lines: list[int] | None = Field(description="first and last line in the text")
    kind: str = Field(examples=["deny"])
    hits: int
    allow: int
    deny: int
    last: str | None


class PolicyText(BaseModel):
    """A policy with the hits of each line."""

    name: str
    digest: str
    sandboxes: list[str]
    since: str | None = Field(alias="from")
    text_lines: list[str]
    rules: list[RuleHits]
    defaults: list[RuleHits] = Field(description="what decided where no line did")
    never_hit: list[str]
    damaged: list[Damaged]


class FilterShown(BaseModel):
    """A filter: its name, what it takes, the columns it asks."""

    name: str = Field(examples=["decision"])
    short: str | None = None
    help: str
    values: list[str] | None = None
    columns: list[str]


class Grammar(BaseModel):
    """What a filter text may hold."""

    filters: list[FilterShown]
    times: dict[str, str]
    axes: list[str]


class Values(BaseModel):
    """What may follow."""

    values: list[str]


class Parsed(BaseModel):
    """A filter text as query parameters."""

    params: list[list[str]] = Field(examples=[[["decision", "deny"]]])
    window: dict[str, str] = Field(examples=[{"since": "1h"}])
    described: str = Field(examples=["deny · agent-demo · 08:03 to now"])
    notes: list[str]


def documented(model: Any) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route."""
    return {200: {"model": model}}


_LINE: Final = '{"event_id":"7kq2m-4712","seq":4712,"decision":"deny"}\n'
STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": Events,
        "description": "A page as JSON; as NDJSON, CSV or Arrow stream everything, in seq order",
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}, "example": _LINE},
            "text/csv": {
                "schema": {"type": "string"},
                "example": "event_id,seq\n7kq2m-4712,4712\n",
            },
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
