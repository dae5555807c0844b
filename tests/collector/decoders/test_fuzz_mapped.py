"""The mapped decoder over mutated lines of every shipped table's sample log, in bulk."""

import os
import random
import time
import tomllib
from pathlib import Path

import pytest
from decoding import NOW, plain
from test_decoder_contract import check_rows
from test_fuzz import MAX_LINE_SECONDS, mutated

from collector.contracts import Block
from collector.decoders.mapped import MappedDecoder
from collector.decoders.mapping import parse_table

FOLDER = Path(__file__).parents[3] / "examples" / "mapped"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
BLOCK_LINES = 200


def fuzz(name: str, count: int) -> None:
    """`count` mutated lines of one table's sample."""
    seed = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
    print(f"seed {seed}, mapped {name}, {count:,} lines")
    rng = random.Random(f"{seed} {name}")
    (settings,) = tomllib.loads((FOLDER / f"{name}.toml").read_text())["decoders"].values()
    table = parse_table({k: v for k, v in settings.items() if k != "kind"}, "audit.toml:1")
    decoder = MappedDecoder(table, lambda: NOW)
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
    at = 0
    for _ in range(0, count, BLOCK_LINES):
        data = b"\n".join(mutated(lines, rng) for _ in range(BLOCK_LINES)) + b"\n"
        started = time.process_time()
        answer = decoder.decode(Block("s", "f", data, at, at + len(data)))
        assert time.process_time() - started < MAX_LINE_SECONDS * 20
        at += len(data)
        filtered = sum(answer.tally.filtered.values())
        assert answer.tally.seen == answer.batch.num_rows + len(answer.rejects) + filtered
        check_rows(plain(answer.batch))


@pytest.mark.parametrize("name", NAMES)
def test_mutated_lines_of_a_mapped_log_do_no_harm(name: str) -> None:
    """A few hundred a table, another seed each day."""
    fuzz(name, 600)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_thirty_thousand_mutated_lines_of_each_table_do_no_harm(name: str) -> None:
    """Over 200,000 lines for the seven tables together."""
    fuzz(name, 30_000)
