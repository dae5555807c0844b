"""Santa's words for decisions, actions and kinds of access."""

from typing import Any, Final

ACCESS: Final[dict[str, str]] = {
    "OPEN": "open", "CREATE": "create", "UNLINK": "delete", "RENAME": "rename", "LINK": "link",
    "CLONE": "create", "COPYFILE": "create", "EXCHANGEDATA": "write", "TRUNCATE": "write",
}  # fmt: skip
_ACTIONS: Final[dict[str, tuple[str, str | None]]] = {
    "EXEC": ("process", "exec"),
    "FORK": ("process", "fork"),
    "EXIT": ("process", None),
    "FILE_ACCESS": ("filesystem", None),
    "DELETE": ("filesystem", "delete"),
    "WRITE": ("filesystem", "write"),
    "RENAME": ("filesystem", "rename"),
    "LINK": ("filesystem", "link"),
    "COPYFILE": ("filesystem", "create"),
    "CLONE": ("filesystem", "create"),
    "DISKAPPEAR": ("system", "mount"),
    "DISKDISAPPEAR": ("system", "mount"),
    "DISK_BLOCKED": ("system", "mount"),
}


def decided(word: str) -> str:
    """allow, deny or unknown; AUDIT_ONLY was allowed and would be denied."""
    if word.startswith("DEN"):
        return "deny"
    return "allow" if word.startswith(("ALLOW", "AUDIT_ONLY", "NO_POLICY")) else "unknown"


def columns_of_decision(action: str, fields: dict[str, str]) -> dict[str, Any]:
    """kind, decision, resource and access: an action without a decision is a notice."""
    resource, access = _ACTIONS.get(action, ("other", None))
    found: dict[str, Any] = {"resource": resource, "access": access, "kind": "notice"}
    if action == "DISK_BLOCKED":
        found |= {"kind": "decision", "decision": "deny"}
    elif "decision" in fields or action in ("EXEC", "FILE_ACCESS"):
        found |= {"kind": "decision", "decision": decided(fields.get("decision", ""))}
    return found
