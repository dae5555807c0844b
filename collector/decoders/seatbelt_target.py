"""Where the object of a Seatbelt operation goes: path, destination or target."""

import re
from typing import Any, Final

from collector.decoders import destinations

_ENDPOINT: Final = re.compile(r"(?:remote|local):(.*)", re.DOTALL)
_NAMED: Final = re.compile(r"(?:path|target):(.*?)(?: ([a-z-]+):(.*))?", re.DOTALL)
_ADDRESS: Final = re.compile(r"(?:[0-9.]+|\[[0-9a-fA-F:.%]+\]|[0-9a-fA-F:.]+|\*):(?:\d{1,5}|\*)")
# Two paths; one blank between them is a border only if no other blank could be.
_PAIR: Final = re.compile(r" ?(/(?:(?!  | /).)*)(?:  | )(/(?:(?!  | /).)*)", re.DOTALL)
# Ends of a path that a word of the form `class:` follows.
_PATH_RESOURCES: Final = ("filesystem", "process")


def columns(
    operation: str, resource: str, target: str | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of the object, and what belongs to `extra`."""
    if target is None:
        return {}, {}
    if resource == "network" and (found := _network(target)):
        return found, {}
    if resource not in _PATH_RESOURCES and not (resource == "network" and target.startswith("/")):
        return {"target": target}, {}
    named = _NAMED.fullmatch(target)
    if named and named[1].startswith("/"):
        return {"path": named[1]}, {named[2]: named[3]} if named[2] else {}
    if operation.startswith("forbidden-link-priv") and (pair := _PAIR.fullmatch(target)):
        return {"path": pair[1], "path_to": pair[2]}, {}
    return ({"path": target} if target.startswith("/") else {"target": target}), {}


def _network(target: str) -> dict[str, Any] | None:
    """`remote:*:443`, `local:*:8080` or an address; a socket's path is none of these."""
    match = _ENDPOINT.fullmatch(target)
    address = match[1] if match else target
    if not match and not _ADDRESS.fullmatch(address):
        return None
    host, port = destinations.split(address)
    return {"dst": address, "dst_host": None if host == "*" else host, "dst_port": port}
