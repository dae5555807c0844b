"""The closed vocabularies: what producers say, and what the trail calls it."""

from typing import Final, NamedTuple

from audit_events.schema import ACCESSES, OUTCOMES, RESOURCES


class Said(NamedTuple):
    """A normalised decision, the flag that explains it, and a standing error if none was given."""

    decision: str
    flag: str | None = None
    error: str | None = None


_ALLOW: Final = Said("allow")
_DENY: Final = Said("deny")
UNKNOWN_DECISION: Final = Said("unknown", "unknown-decision")

_DECISIONS: Final[dict[str, Said]] = {
    **dict.fromkeys(("allow", "allowed", "allows", "grant", "granted"), _ALLOW),
    **dict.fromkeys(("permit", "permitted"), _ALLOW),
    **dict.fromkeys(("ok", "accept", "accepted", "pass", "passed", "yes", "true"), _ALLOW),
    **dict.fromkeys(("deny", "denied", "denies", "block", "blocked", "refuse", "refused"), _DENY),
    **dict.fromkeys(("reject", "rejected", "forbid", "forbidden", "drop", "dropped"), _DENY),
    **dict.fromkeys(("no", "false", "disallow", "disallowed"), _DENY),
    **dict.fromkeys(("ask-granted", "ask-allow", "ask-allowed"), Said("allow", "asked")),
    **dict.fromkeys(("ask-denied", "ask-deny", "ask-refused"), Said("deny", "asked")),
    **dict.fromkeys(
        ("would-deny", "would-block", "complain", "audit-only"), Said("allow", "would-deny")
    ),
    # Nobody answered in time, so the operation did not happen.
    **dict.fromkeys(("timeout", "timed-out", "ask-timeout"), Said("deny", "timeout", "E_TIMEOUT")),
}  # fmt: skip

_RESOURCES: Final[dict[str, str]] = {
    **{name: name for name in RESOURCES},
    **dict.fromkeys(("file", "files", "fs", "directory", "path"), "filesystem"),
    **dict.fromkeys(("net", "socket", "tcp", "udp", "http", "egress"), "network"),
    **dict.fromkeys(("proc", "exec"), "process"),
    "mach-service": "mach",
}

_ACCESSES: Final[dict[str, str]] = {
    **{name: name for name in ACCESSES},
    **dict.fromkeys(("r", "reading"), "read"),
    **dict.fromkeys(("w", "rw", "append", "truncate", "modify", "writing"), "write"),
    **dict.fromkeys(("x", "execute", "execve", "spawn", "run"), "exec"),
    **dict.fromkeys(("unlink", "remove", "rmdir"), "delete"),
    **dict.fromkeys(("mkdir", "mknod"), "create"),
    **dict.fromkeys(("move", "mv"), "rename"),
    **dict.fromkeys(("symlink", "hardlink"), "link"),
    **dict.fromkeys(("stat", "getattr"), "metadata"),
    **dict.fromkeys(("kill",), "signal"),
    **dict.fromkeys(("recv",), "receive"),
    **dict.fromkeys(("mmap",), "map"),
    **dict.fromkeys(("dns", "getaddrinfo"), "resolve"),
}

# Only names that say what was done whatever their arguments: `open` may read or write.
_SYSCALLS: Final[dict[str, str]] = {
    **{name: name for name in ("read", "write", "connect", "bind", "listen", "accept", "rename")},
    **{name: name for name in ("fork", "link", "mount", "ioctl")},
    **dict.fromkeys(("execve", "execveat", "posix_spawn"), "exec"),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "delete"),
    **dict.fromkeys(("mkdir", "mkdirat", "creat", "mknod", "mknodat"), "create"),
    **dict.fromkeys(("renameat", "renameat2"), "rename"),
    **dict.fromkeys(("linkat", "symlink", "symlinkat"), "link"),
    **dict.fromkeys(("accept4",), "accept"),
    **dict.fromkeys(("stat", "lstat", "fstat", "newfstatat", "statx"), "metadata"),
    **dict.fromkeys(("kill", "tkill", "tgkill"), "signal"),
    **dict.fromkeys(("sendto", "sendmsg"), "send"),
    **dict.fromkeys(("recvfrom", "recvmsg"), "receive"),
    **dict.fromkeys(("clone", "clone3", "vfork"), "fork"),
}

_OUTCOMES: Final[dict[str, str]] = {
    **{name: name for name in OUTCOMES},
    **dict.fromkeys(("success", "succeeded", "done"), "ok"),
    **dict.fromkeys(("timed-out", "timedout"), "timeout"),
    **dict.fromkeys(("retried", "retrying"), "retry"),
    **dict.fromkeys(("policy-violation", "denied"), "policy_violation"),
    **dict.fromkeys(("failed", "failure", "err"), "error"),
}


def decision(text: str) -> Said:
    """What a decision word means; one that nobody knows is `unknown`, never a guess."""
    return _DECISIONS.get(_plain(text), UNKNOWN_DECISION)


def resource(text: str) -> str | None:
    """The kind of object, None if the word is not known."""
    return _RESOURCES.get(_plain(text))


def access(text: str) -> str | None:
    """The verb, None if the word is not known."""
    return _ACCESSES.get(_plain(text))


def access_of_syscall(text: str) -> str | None:
    """The verb that a system call's name alone tells, else None."""
    return _SYSCALLS.get(text)


def outcome(text: str) -> str | None:
    """How a tool call ended, None if the word is not known."""
    plain = _plain(text)
    return _OUTCOMES.get(plain) or _OUTCOMES.get(plain.replace("-", "_"))


def _plain(text: str) -> str:
    return text.strip().lower().replace("_", "-").replace(" ", "-")
