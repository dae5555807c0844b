"""Reports that tell what another matching record tells as well: both are one operation."""

from collections.abc import Sequence
from typing import Final

from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.snapshot import Part

# Reports beyond this are counted beside what they report, and the answer says so.
MAX_MERGED: Final = 1_000_000
IS_REPORT: Final = Clause("link = 'report'")


def told_twice(reader: Reader, parts: Sequence[Part], where: Clause) -> dict[int, str] | None:
    """Reports whose own event matches too: seq and who told; None if too many to compare."""
    columns = "seq, linked_seq, coalesce(enforcer, source)"
    query = Query(columns, all_of([where, IS_REPORT]), Clause(f"LIMIT {MAX_MERGED + 1}"))
    found = reader.rows(parts, query)
    if len(found) > MAX_MERGED or not found:
        return None if found else {}
    named = Clause("seq IN (SELECT unnest(?))", ([linked for _, linked, _ in found],))
    partners = Query("seq", all_of([where, not_(IS_REPORT), named]))
    there = {seq for (seq,) in reader.rows(parts, partners)}
    return {seq: who for seq, linked, who in found if linked in there}
