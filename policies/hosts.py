"""Destinations: what `host:port` means in a policy and in an event."""

import ipaddress
import re
from typing import Final

ANY: Final = "*"
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*\.?", re.IGNORECASE)
MAX_HOST_CHARS: Final = 253
_EXAMPLE: Final = '"github.com:443"'


def host_problem(text: str) -> tuple[str, str | None] | None:
    """(what is wrong, hint) of an entry of `network.egress`; None if it is a destination."""
    shown = f"'{text[:MAX_HOST_CHARS]}'"
    if "://" in text:
        host = text.split("://", 1)[1].split("/", 1)[0]
        return f"{shown} is a URL", f'"{host}"' if ":" in host else f'"{host}:443"'
    host, colon, port = text.rpartition(":")
    if text.count(":") > 1 and not text.startswith("["):
        return f"{shown}: an IPv6 address needs brackets", f'"[{host}]:{port}"'
    if not colon or not host or text.endswith("]"):
        return f"{shown} has no port", f'"{text or "host"}:443", or "{text or "host"}:*" for all'
    if port != ANY and not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= 65535):
        return f"{shown}: the port is a number from 1 to 65535, or *", _EXAMPLE
    if "/" in host:
        return f"{shown}: ranges and paths cannot be named", _EXAMPLE
    if host != ANY and not is_address(host) and not _is_name(host):
        return f"{shown} is no host", _EXAMPLE
    return None


def _is_name(host: str) -> bool:
    # `10.0.0` or `1.2.3.256` is a slip of the pen, not a name.
    numbers = all(part.isdigit() for part in host.rstrip(".").split("."))
    return len(host) <= MAX_HOST_CHARS and not numbers and _NAME.fullmatch(host) is not None


def split_host(text: str) -> tuple[str, int | None]:
    """Host, as compared, and port (None: any) of `host:port`; `*` is the host that is any."""
    host, _, port = text.rpartition(":")
    return compared(host), int(port) if port.isascii() and port.isdigit() else None


def compared(host: str) -> str:
    """A host as it is compared: lower case, no final dot, addresses in their shortest form."""
    bare = host.strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return bare
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def is_address(host: str) -> bool:
    """Whether a host is an address and no name."""
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def host_covers(rule: str, host: str) -> bool:
    """Whether a rule's host covers an event's host; both as `compared`."""
    if rule in (ANY, host):
        return True
    return rule.startswith("*.") and host.endswith(rule[1:]) and not is_address(host)
