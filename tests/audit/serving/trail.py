"""A store with everything that the API tells of: runs, gaps, sources, policies of two sandboxes."""

from pathlib import Path
from typing import Any

from audit_events.layout import CONTROL_DDL
from collector import policy_store
from collector.policy_store import Application
from collector.sqlite import control_connection
from policies.load import parse_policy
from policies.model import Policy
from tests.audit.serving.conftest import rows
from tests.query.stores import T0, StoreWriter, build, event
from tests.query.test_scope import owners, put_runs

DEMO, OTHER = "agent-demo", "agent-other"
TEXT = Path("examples/agent-readonly.yaml").read_text()


def policy(name: str = "agent-readonly") -> Policy:
    """The example's policy, under another name if wanted."""
    return parse_policy(TEXT.replace("name: agent-readonly", f"name: {name}").encode())


def events() -> list[dict[str, Any]]:
    """60 decisions under a policy of their sandbox, a tool call, a masked secret, a report."""
    found = [_under_policy(row) for row in rows()]
    found.append(event(61, sandbox=DEMO, kind="tool_call", tool="bash", outcome="timeout",
                       decision=None, duration_us=90_000, resource="tool", count=1))  # fmt: skip
    masked: dict[str, Any] = {"path": "/x/[REDACTED:aws-key:3fa94c1d22b0]", "redactions": 1,
              "redaction_kinds": "aws-key"}  # fmt: skip
    masked |= {"correlation_id": "b41d7788", "source": "other-log", "resource": "filesystem"}
    found.append(event(62, sandbox=OTHER, kind="decision", count=1, decision="deny", **masked))
    report = {"link": "report", "linked_seq": 55, "enforcer": "seatbelt"}
    found.append(event(63, sandbox=DEMO, kind="decision", decision="deny", count=1,
                       resource="network", **report))  # fmt: skip
    return found


def _under_policy(row: dict[str, Any]) -> dict[str, Any]:
    name = "agent-readonly" if row["sandbox"] == DEMO else "other-policy"
    return {**row, "policy": name, "policy_digest": policy(name).digest, "rule_origin": "reported"}


def full_store(root: Path) -> StoreWriter:
    """The store of these events."""
    found = events()
    store = build(root, found, sealed=30)
    put_runs(store, found, owners(found))
    source = "INSERT INTO sources VALUES(?, 'file', 'native', ?, 'healthy', '', ?, ?, 0, '{}')"
    for name in ("openclaw", "other-log", "unified-log"):
        store.con.execute(source, (name, f"/var/log/{name}", T0, T0))
    gap = "INSERT INTO gaps VALUES (?, ?, ?, ?, 'no rights', NULL, NULL)"
    store.con.execute(gap, (1, "openclaw", T0 + 1_000, T0 + 5_000))
    store.con.execute(gap, (2, "other-log", T0 + 2_000, None))
    con = control_connection(store.paths.control, CONTROL_DDL)
    for sandbox, name in ((DEMO, "agent-readonly"), (OTHER, "other-policy")):
        new = Application(sandbox, policy(name), f"/etc/{name}.yaml", "root", T0 - 10_000_000)
        policy_store.put_in_force(con, new)
    con.close()
    return store
