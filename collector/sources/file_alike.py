"""Whether two files or names are alike, by their bytes and endings."""

from typing import Final

from collector.sources.file_framing import CHUNK_BYTES
from collector.sources.file_readers import Reader
from collector.sources.file_stream import Stream

PREFIX_BYTES: Final = 32  # a record's first 32 bytes hold its time; shorter files are never copies


def endings(path: str) -> tuple[str, str]:
    """The file's name with its folder's, and alone."""
    parts = path.split("/")
    return "/".join(parts[-2:]), parts[-1]


def same_head(stream: Stream, beginning: bytes) -> bool:
    head = stream.trace.head_raw
    size = min(len(head), len(beginning))
    return size >= PREFIX_BYTES and head[:size] == beginning[:size]


def shared(copy: Reader, original: Reader, start: int) -> int | None:
    """The length of the copy if all of it is in the original, else None."""
    while data := copy.read_at(start, CHUNK_BYTES):
        if original.read_at(start, len(data)) != data:
            return None
        start += len(data)
    return start


def length(reader: Reader) -> int:
    size = 0
    while data := reader.read_at(size, CHUNK_BYTES):
        size += len(data)
    return size
