"""The JSON Schema of a policy, for editors; what only we can check stays with the loader."""

from typing import Any, Final

from policies.load import FIELDS, NAME_PATTERN
from policies.model import API_VERSION, BOTH, KIND

_ABOUT: Final = {
    "apiVersion": "the format",
    "kind": "always SandboxPolicy",
    "metadata": "what the policy is called",
    "spec": "what is allowed; everything else is refused",
    "filesystem": "rules about paths; a deny beats every allow",
    "process": "which programs may start",
    "network": "where connections may go",
}


def policy_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12)."""
    path = {
        "type": "string",
        "pattern": r"^(/|\*\*(/|$))",
        "description": "absolute or from **; without * ? [ it means itself and all under it",
    }
    access = _list({"enum": list(BOTH)}, "what the rule is about; without it both", unique=True)
    rule = _map({"path": path, "access": access}, ["path"], "one rule")
    name = {"type": "string", "pattern": r"^[^/*?\[]+$"}
    host = {"type": "string", "pattern": r"^.+:([0-9]{1,5}|\*)$"}
    parts: dict[str, dict[str, Any]] = {
        "metadata": {"name": {"type": "string", "pattern": f"^{NAME_PATTERN}$"}},
        "spec.filesystem": {
            "allow": _list(rule, "what may be read or written"),
            "deny": _list(rule, "what may not, even inside an allowed folder"),
        },
        "spec.process": {"allow": _list(name, "names of programs that may start")},
        "spec.network": {
            "egress": {
                "description": "deny-all, allow-all, or the destinations that are allowed",
                "oneOf": [{"enum": ["deny-all", "allow-all"]}, _list(host, "host:port")],
            }
        },
    }
    needed = {"metadata": ["name"], "spec.process": ["allow"], "spec.network": ["egress"]}
    maps = {
        where: _map(fields, needed.get(where, []), _ABOUT[where.rpartition(".")[2]])
        for where, fields in parts.items()
    }
    spec = _map({key: maps[f"spec.{key}"] for key in FIELDS["spec"]}, [], _ABOUT["spec"])
    top = {
        "apiVersion": {"const": API_VERSION, "description": _ABOUT["apiVersion"]},
        "kind": {"const": KIND, "description": _ABOUT["kind"]},
        "metadata": maps["metadata"],
        "spec": {**spec, "minProperties": 1},
    }
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": KIND, **_map(top, list(FIELDS[""]), "a sandbox policy")}


def _map(fields: dict[str, Any], needed: list[str], about: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": about,
        "properties": fields,
        "required": needed,
        "additionalProperties": False,
    }


def _list(item: dict[str, Any], about: str, *, unique: bool = False) -> dict[str, Any]:
    more = {"uniqueItems": True} if unique else {}
    return {"type": "array", "description": about, "minItems": 1, "items": item, **more}
