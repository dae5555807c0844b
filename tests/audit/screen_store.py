"""The store that the screens in SCREENS.md show: the story's run whole, its policy, a few more.

`python -m tests.audit.screen_store DIR` makes one to look at by hand.
"""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from audit_events.layout import CONTROL_DDL
from collector.policy_store import Application, put_in_force
from collector.sqlite import open_writable
from exporters.cursor import advance
from policies.load import parse_policy
from tests.audit.story import ADMIN, MASKED, NOW, StoryStore, at, file_event, story
from tests.audit.terminal import ROOT

POLICY: Final = parse_policy((ROOT / "examples" / "agent-readonly.yaml").read_bytes())
FIRST_SEQ: Final = 4701


def whole_run() -> list[dict[str, Any]]:
    """The story with 212 different files read, six written, and `POLICY` in force."""
    rows = []
    for row in story()[:-1]:
        if 4713 <= row["seq"] <= 4924:
            row |= {"path": f"/workspace/{'src' if row['seq'] % 2 else 'doc'}/{row['seq']}.swift"}
        rows.append(row)
    written = [MASKED, *(f"/workspace/out/{n}.json" for n in range(1, 6))]
    for n, path in enumerate(written):
        clock = "18:03:14.002" if n < 5 else "18:03:15.081"
        what = ("write", path, "filesystem.allow[0]", 33)
        masked = {"redactions": 1, "redaction_kinds": "openclaw-token"} if n == 0 else {}
        rows.append(file_event(4931 + n, clock, "allow", "zsh[4021]", *what) | masked)
    return [row | {"policy_digest": row["policy_digest"] and POLICY.digest} for row in rows]


def put_policy(store: StoryStore) -> None:
    """`POLICY` in force for the story's sandbox since the day before."""
    path = "/Users/oncall/policies/agent-readonly.yaml"
    applied = Application("agent-demo", POLICY, path, "oncall", at("10:02:00", "2026-07-27"))
    with closing(open_writable(store.paths.control, CONTROL_DDL)) as con:
        put_in_force(con, applied)


def busy(root: Path) -> StoryStore:
    """A collector at work with three sources, one of them gone, and an export."""
    store = StoryStore(root, whole_run())
    put_policy(store)
    store.collector(pid=1, heartbeat=NOW - 1_000_000, seal_after_s=180.0)
    store.source("openclaw", "healthy", location="/x/decisions.jsonl",
                 last_read_at=NOW - 1_200_000)  # fmt: skip
    store.source("socket", "healthy", location="/x/collector.sock",
                 last_read_at=NOW - 7_200_000_000)  # fmt: skip
    store.source("unified-log", "failed", note=ADMIN, location="log stream")
    store.tally("seen", "", 81_225)
    store.tally("stored", "", 81_204)
    store.tally("rejected", "not-json-or-logfmt", 21)
    store.gap("unified-log", at("04:11:02", "2026-07-23"), at("04:11:09", "2026-07-23"),
              "messages dropped")  # fmt: skip
    store.con.execute("UPDATE gaps SET count = 34")
    store.gap("all", at("13:58:40", "2026-07-25"), at("14:01:12", "2026-07-25"),
              "collector stopped")  # fmt: skip
    store.gap("unified-log", at("18:04:04"), None, ADMIN)
    advance(store.paths.control, "splunk", after=0, upto=4_936, now=at("02:15:07"))
    return store


def stopped_since(store: StoryStore, when: int) -> None:
    """Collecting ended at a time, in µs."""
    store.meta(collector=json.dumps({"pid": 1, "stopped": when}))


if __name__ == "__main__":
    busy(Path(sys.argv[1])).close()
