"""Single things by their names, within a scope: what may not be seen looks like what is none."""

import sqlite3
from contextlib import closing
from typing import Any

from audit import reads
from audit.render_time import utc
from audit.serving.errors import RefusedError, not_found
from audit.story_rules import RuleOf, rules_of
from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from audit_events.schema import KINDS
from policies.model import bare_digest
from query import engine
from query.contracts import Request, Row, Scope
from query.predicates import one_of
from query.runs import in_scope
from query.snapshot import reading
from query.story import Story
from query.views import MAX_SANDBOXES


def event_of(store: StorePaths, word: str, scope: Scope) -> Row:
    """The event of `4712` or `7kq2m-4712`; UsageError for another word, Refused (404)."""
    name, dash, digits = word.rpartition("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise UsageError(f"{word[:100]!r} names no event", hint="a seq, or STORE-SEQ")
    if dash and name != reads.store_id(store):
        raise _no_event(word)
    request = Request({"seq": (f"{digits}:{digits}",), "kind": KINDS}, limit=1, scope=scope)
    found = engine.answer(store, request)
    if found.rows:
        return found.rows[0]
    raise _no_event(word)


def _no_event(word: str) -> RefusedError:
    return not_found(f"no event {word}")


def may_see_policy(store: StorePaths, digest: str, scope: Scope) -> bool:
    """Whether a policy was in force for a sandbox of the scope: a record may name any digest."""
    if scope is None:
        return True
    where = one_of("sandbox", scope)
    sql = f"SELECT 1 FROM policy_history WHERE digest = ? AND {where.sql} LIMIT 1"  # noqa: S608
    uri = store.control.resolve().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as con:
        return con.execute(sql, (digest, *where.params)).fetchone() is not None


def seen_rules(store: StorePaths, found: Story, scope: Scope) -> RuleOf:
    """The lines of rules of a story's policies, of those that may be seen."""
    digests = [bare_digest(digest) for _, digest in found.policies if digest]
    return rules_of(store, [one for one in digests if may_see_policy(store, one, scope)])


def sandboxes_of(store: StorePaths, scope: Scope) -> list[dict[str, Any]]:
    """Every sandbox of the scope that was seen, the most recent first."""
    where, params = in_scope(scope)
    with reading(store) as con:
        rows = con.execute(
            "SELECT name, last_ts, (SELECT count(*) FROM runs WHERE sandbox = name) FROM"  # noqa: S608
            f" (SELECT name, name AS sandbox, last_ts FROM sandboxes) WHERE {where}"
            " AND name <> '' ORDER BY last_ts DESC, name LIMIT ?",
            (*params, MAX_SANDBOXES),
        ).fetchall()
    return [{"sandbox": name, "last": utc(last), "runs": runs} for name, last, runs in rows]
