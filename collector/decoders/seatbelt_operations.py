"""Seatbelt's operations: which kind of object each acts on, and how (DESIGN.md section 4)."""

from typing import Final, NamedTuple


class Operation(NamedTuple):
    """`resource` and `access` of an event."""

    resource: str
    access: str | None


_EXACT: Final[dict[str, tuple[str, str | None]]] = {
    "file-read-metadata": ("filesystem", "metadata"),
    "file-test-existence": ("filesystem", "metadata"),
    "file-search": ("filesystem", "read"),
    "file-write-create": ("filesystem", "create"),
    "file-write-unlink": ("filesystem", "delete"),
    "file-clone": ("filesystem", "create"),
    "file-link": ("filesystem", "link"),
    "file-rename": ("filesystem", "rename"),
    "file-ioctl": ("filesystem", "ioctl"),
    "file-issue-extension": ("filesystem", "issue"),
    "file-map-executable": ("filesystem", "map"),
    "file-mount": ("filesystem", "mount"),
    "file-mount-update": ("filesystem", "mount"),
    "file-unmount": ("filesystem", "mount"),
    "file-mknod": ("filesystem", "create"),
    "file-revoke": ("filesystem", "other"),
    "file-chroot": ("filesystem", "other"),
    "system-fsctl": ("filesystem", "ioctl"),
    "forbidden-link-priv": ("filesystem", "link"),
    "network-outbound": ("network", "connect"),
    "network-inbound": ("network", "accept"),
    "network-bind": ("network", "bind"),
    "network-listen": ("network", "listen"),
    "system-socket": ("network", "create"),
    "socket-ioctl": ("network", "ioctl"),
    "socket-option-get": ("network", "metadata"),
    "socket-option-set": ("network", "other"),
    "necp-client-open": ("network", "open"),
    "process-fork": ("process", "fork"),
    "forbidden-exec-sugid": ("process", "exec"),
    "job-creation": ("process", "create"),
    "dynamic-code-generation": ("process", "map"),
    "load-unsigned-code": ("process", "map"),
    "signal": ("signal", "signal"),
    "mach-lookup": ("mach", "lookup"),
    "mach-cross-domain-lookup": ("mach", "lookup"),
    "mach-per-user-lookup": ("mach", "lookup"),
    "mach-register": ("mach", "register"),
    "mach-bootstrap": ("mach", "lookup"),
    "mach-issue-extension": ("mach", "issue"),
    "mach-derive-port": ("mach", "open"),
    "appleevent-send": ("ipc", "send"),
    "distributed-notification-post": ("ipc", "send"),
    "darwin-notification-post": ("ipc", "send"),
    "iokit-get-properties": ("iokit", "read"),
    "iokit-set-properties": ("iokit", "write"),
    "iokit-issue-extension": ("iokit", "issue"),
    "generic-issue-extension": ("system", "issue"),
    "syscall-unix": ("system", "call"),
    "syscall-mach": ("system", "call"),
    "syscall-mig": ("system", "call"),
    "user-preference-read": ("system", "read"),
    "user-preference-write": ("system", "write"),
    "managed-preference-read": ("system", "read"),
    "forbidden-sandbox-reinit": ("system", "other"),
    "forbidden-map-ls-database": ("system", "map"),
    "lsopen": ("system", "open"),
    "pseudo-tty": ("system", "open"),
}

# Beginnings of families, longest first; the access of a family member is told by its ending.
_FAMILIES: Final = (
    ("process-exec", "process", "exec"),
    ("process-info", "process", "metadata"),
    ("file-read", "filesystem", "read"),
    ("file-write", "filesystem", "write"),
    ("iokit-open", "iokit", "open"),
    ("ipc-", "ipc", None),
    ("sysctl", "sysctl", None),
    ("mach-", "mach", "open"),
    ("file-", "filesystem", None),
    ("network", "network", None),
    ("socket-", "network", None),
    ("process-", "process", None),
    ("iokit-", "iokit", None),
    ("device-", "iokit", "open"),
    ("hid-", "iokit", None),
    ("xpc-", "mach", None),
    ("signal", "signal", "signal"),
)
_ENDINGS: Final = (
    ("-read-data", "read"), ("-read-metadata", "metadata"), ("-read", "read"), ("-get", "read"),
    ("-write-data", "write"), ("-write-create", "create"), ("-write-unlink", "delete"),
    ("-write", "write"), ("-set", "write"), ("-create", "create"), ("-unlink", "delete"),
    ("-open", "open"), ("-send", "send"), ("-receive", "receive"),
)  # fmt: skip


def operation(name: str) -> Operation:
    """How an operation is filed; one that nobody knows is `system`, with access by its ending."""
    plain = name.partition("<")[0].rstrip("*-")
    found = _EXACT.get(plain)
    if found is not None:
        return Operation(*found)
    for beginning, resource, access in _FAMILIES:
        if plain.startswith(beginning):
            return Operation(resource, access or _ending(plain))
    return Operation("system", _ending(plain))


def _ending(name: str) -> str | None:
    return next((access for ending, access in _ENDINGS if name.endswith(ending)), "other")


def table() -> list[tuple[str, Operation]]:
    """Every operation that has a place of its own, and the beginning of each family with a `*`."""
    exact = [(name, Operation(*filed)) for name, filed in sorted(_EXACT.items())]
    families = [(f"{start}*", Operation(res, access)) for start, res, access in _FAMILIES]
    return [*exact, *families]
