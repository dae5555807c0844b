"""One digest of the rows that decoding and redaction make of a native log: the same before and
after a change of speed. `PYTHONPATH=OTHER_TREE python -P bench/rows_digest.py FILE` asks another.
"""

import hashlib
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from audit_events.canonical import canonical_chunks
from collector.contracts import Block
from collector.decoders.native import NativeDecoder
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.rules import ALL_RULES

BLOCK_BYTES = 1_700_000
NOW = datetime(2026, 7, 28, tzinfo=UTC)


def digest(path: Path) -> tuple[str, int, int]:
    """SHA-256 over all rows and rejects, how many rows there are and how many rejects."""
    gate = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))
    decoder, told = NativeDecoder(lambda: NOW), hashlib.sha256()
    state, start, rows, rejects = gate.initial_state(), 0, 0, 0
    with path.open("rb") as file:
        while data := file.read(BLOCK_BYTES):
            data += file.readline()
            found = decoder.decode(Block("s", "f", data, start, start + len(data)))
            start += len(data)
            rejects += len(found.rejects)
            told.update(repr(found.rejects).encode())
            if found.batch.num_rows:
                place = found.batch.schema.get_field_index("source")
                name = pa.repeat(pa.scalar("s", pa.string()), found.batch.num_rows)
                batch = found.batch.set_column(place, found.batch.schema.field(place), name)
                out, state = gate.redact(batch, state)
                rows += out.num_rows
                for chunk in canonical_chunks(out):
                    told.update(chunk)
    told.update(gate.dump_state(state).encode())
    return told.hexdigest(), rows, rejects


if __name__ == "__main__":
    print(*digest(Path(sys.argv[1])))
