"""Join neighbouring blocks of a stream: a decoder's cost is per block."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from audit_events.schema import MAX_BLOCK_BYTES
from collector.contracts import Block, Emission, Idle


def coalesced(emissions: Sequence[Emission]) -> Iterator[Emission]:
    """The same emissions with neighbouring blocks of one stream joined.

    A source that follows a log line by line gives a block a line and rests after each; a decoder's
    cost is per block. Of the rests only each source's last one says anything.
    """
    run: list[Block] = []
    rests: dict[str, Idle] = {}
    for emission in emissions:
        if isinstance(emission, Idle):
            rests[emission.source] = emission
            continue
        if run and not (isinstance(emission, Block) and _continues(run, emission)):
            yield _one(run)
            run = []
        if isinstance(emission, Block):
            run.append(emission)
        else:
            yield emission
    if run:
        yield _one(run)
    yield from rests.values()


def _continues(run: list[Block], block: Block) -> bool:
    last = run[-1]
    return (
        (block.source, block.stream, block.start) == (last.source, last.stream, last.end)
        and not (last.tail or last.final or last.rejects or block.tail or block.rejects)
        and bool(last.data and block.data)
        and block.end - run[0].start <= MAX_BLOCK_BYTES
    )


def _one(run: list[Block]) -> Block:
    last = run[-1]
    if len(run) == 1:
        return last
    return replace(last, data=b"".join(block.data for block in run), start=run[0].start)
