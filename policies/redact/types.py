"""The type that only the redactor can make."""

from typing import NewType

import pyarrow as pa

# A batch in which every secret is masked. Only policies/redact/engine.py constructs one (AST test).
Redacted = NewType("Redacted", pa.RecordBatch)
