"""Network destinations: one text `host:port` and its two parts."""

import re
from functools import lru_cache
from typing import Final

_PORT: Final = re.compile(r"\d{1,5}", re.ASCII)
_BRACKETED: Final = re.compile(r"\[([^\[\]]*)\](?::(\d{1,5}|\*))?", re.ASCII)
MAX_PORT: Final = 65_535
MAX_REMEMBERED_LENGTH: Final = 128


def split(dst: str) -> tuple[str | None, int | None]:
    """Host and port; a part that is missing, `*` as port or out of range is None.

    A bare IPv6 address has no port; a text that is not `host:port` is a host.
    """
    return _known(dst) if len(dst) <= MAX_REMEMBERED_LENGTH else _split(dst)


def _split(dst: str) -> tuple[str | None, int | None]:
    match = _BRACKETED.fullmatch(dst)
    if match:
        return match[1] or None, _port(match[2] or "")
    host, colon, port = dst.rpartition(":")
    if not colon or ":" in host:
        return dst, None
    if port in ("", "*"):
        return host or None, None
    number = _port(port)
    return (dst, None) if number is None else (host or None, number)


# Few destinations make most of a log; long ones are not kept, so that the memory is bounded.
_known = lru_cache(maxsize=16_384)(_split)


def join(host: str | None, port: int | None) -> str | None:
    """`host:port`, `[v6]:port`, `*:port` for an unknown host, the host alone without port."""
    if host is None:
        return None if port is None else f"*:{port}"
    if port is None:
        return host
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _port(text: str) -> int | None:
    return int(text) if _PORT.fullmatch(text) and int(text) <= MAX_PORT else None
