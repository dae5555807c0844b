"""Streams that several decoder tests read."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_LINE = (
    "ts=2026-07-28T09:03:{second:02d}.481Z sandbox=agent-{agent} syscall=open resource=filesystem "
    'path="/work space/{name}" access=read decision={decision} policy_rule=filesystem.allow[{rule}]'
    " latency_us={latency}"
)
_ODD = (
    'path="a\\"b" decision=deny ts=1785229392',
    "ts=1785229392 decision=deny novel=1",
    "ts=1785229392 decision=deny decision=allow",
    "ts=1785229392 decision=deny pid=-4 count=0 uid=99999999999999999999",
    "WARN decision=deny path=/x\tpid=7",
    "path=/a decision=deny time=2026-07-28",
    "no record at all",
    'path="unclosed decision=deny',
    "ts=soon decision=deny",
    "   ts=1785229392   decision=  path=/b  ",
)


@pytest.fixture(scope="session")
def native_logfmt_block() -> bytes:
    """A block of logfmt above the size where columns are used, with odd lines in between."""
    chance = random.Random(7)
    lines = []
    for number in range(600):
        line = _LINE.format(
            second=number % 60,
            agent=chance.randrange(4),
            name=chance.choice(["a", "é", "b=c", "x" * 40]) + str(number),
            decision=chance.choice(["allow", "deny", "DENY", "perhaps"]),
            rule=chance.randrange(3),
            latency=chance.randrange(10_000),
        )
        lines.append(chance.choice(_ODD) if number % 23 == 5 else line)
    lines[300] = "path=/\udcff\udcfe decision=deny"
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"
