"""Questions about the bytes of a whole block, asked of numpy: `bytes` takes several times as long
for them as soon as a block is a few kilobytes."""

import numpy as np
import numpy.typing as npt


def count(data: bytes | bytearray, byte: int) -> int:
    """How many bytes of `data` are `byte`."""
    return int(np.count_nonzero(_view(data) == byte))


def has_pair(data: bytes | bytearray, first: int, second: int) -> bool:
    """Whether `first` is followed by `second` anywhere."""
    view = _view(data)
    return bool(((view[:-1] == first) & (view[1:] == second)).any())


def _view(data: bytes | bytearray) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
