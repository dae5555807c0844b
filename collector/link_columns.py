"""Links of a commit as columns, once the seq of its first row is known."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from audit_events.schema import LINKS
from collector.commit import Link


def link_columns(links: Sequence[Link], rows: int, first: int) -> dict[str, pa.Array]:
    """`linked_seq` and `link` of a commit's rows, ready for storage; empty if none links."""
    if not links:
        return {}
    seqs, kinds = np.zeros(rows, np.int64), np.zeros(rows, np.int32)
    none = np.ones(rows, bool)
    for link in links:
        seqs[link.row] = first + link.partner if link.partner is not None else link.seq or 0
        kinds[link.row], none[link.row] = LINKS.index(link.kind), False
    indices = pa.array(kinds, mask=none)
    return {
        "linked_seq": pa.array(seqs, mask=none),
        "link": pa.DictionaryArray.from_arrays(indices, pa.array(LINKS)),
    }
