"""A policy's text becomes a policy, or a list of faults, each with its line and column.

Everything wrong is said at once, MAX_PROBLEMS at most; what YAML itself makes ambiguous is refused
one floor below, in yaml_text.py.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from policies.glob import rule_pattern
from policies.hosts import host_problem, split_host
from policies.model import (
    API_VERSION,
    BOTH,
    FILESYSTEM_DEFAULT,
    KIND,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    HostRule,
    Lines,
    NameRule,
    PathRule,
    Policy,
)
from policies.wording import clipped, close, kind, near, path_problem, quoted, shown
from policies.yaml_text import MAX_PROBLEMS, Document, Loc, Problem, YamlError, load

MAX_POLICY_BYTES: Final = 1 << 20
# The fields of each map; what schema.py tells editors is made of the same table.
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "": ("apiVersion", "kind", "metadata", "spec"),
    "metadata": ("name",),
    "spec": ("filesystem", "process", "network"),
    "spec.filesystem": ("allow", "deny"),
    "spec.process": ("allow",),
    "spec.network": ("egress",),
}
RULE_FIELDS: Final = ("path", "access")
_NEEDED: Final = {"": FIELDS[""], "metadata": ("name",), "spec.process": ("allow",),
                  "spec.network": ("egress",)}  # fmt: skip
_EGRESS: Final = ("deny-all", "allow-all")
NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_OLD: Final = re.compile(r"openclaw\.jexmac\.com/v1.*|v1.*")
_ACCESS_HINT: Final = "read, write; programs are named in process.allow"
_HINTS: Final = {
    ("spec.process", "deny"): "what process.allow does not name is refused",
    ("spec.network", "ingress"): "the policy speaks of what leaves: egress",
    ("spec.network", "allow"): "egress: [\"host:port\"]",
    ("spec.network", "deny"): "egress: deny-all",
}  # fmt: skip


def parse_policy(data: bytes) -> Policy:
    """The policy of a file's bytes. Raises YamlError with the first faults in order."""
    if len(data) > MAX_POLICY_BYTES:
        raise YamlError([Problem(1, 1, f"larger than {MAX_POLICY_BYTES} bytes")])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        start = before.rfind(b"\n") + 1
        column = len(before[start:].decode(errors="replace")) + 1
        problem = Problem(before.count(b"\n") + 1, column, "not UTF-8", "save the file as UTF-8")
        raise YamlError([problem]) from None
    reader = _Reader(load(text))
    policy = reader.policy(text)
    if reader.problems:
        raise YamlError(reader.problems)
    return policy


class _Enough(Exception):  # noqa: N818 - the way out once nobody would read on
    pass


class _Reader:
    """Walks the document once, in its order, and notes what is wrong."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def policy(self, text: str) -> Policy:
        try:
            return self._policy(text)
        except _Enough:
            raise YamlError(self.problems) from None

    def _policy(self, text: str) -> Policy:
        top = self._map((), "")
        self._version(top)
        metadata = self._map(("metadata",), "metadata") if "metadata" in top else {}
        name = metadata.get("name")
        if "name" in metadata and not (isinstance(name, str) and re.fullmatch(NAME_PATTERN, name)):
            self._fault(("metadata", "name"), "metadata.name: letters, digits, . _ - (63 at most)")
        spec = self._map(("spec",), "spec") if "spec" in top else {}
        if "spec" in top and not spec and isinstance(top["spec"], dict):
            self._fault(("spec",), "spec is empty", "filesystem, process, network")
        allow, deny = self._filesystem(spec)
        processes = self._processes(spec)
        egress, hosts = self._network(spec)
        rules: list[PathRule | NameRule | HostRule] = [*allow, *deny, *processes, *hosts]
        lines = {rule.name: rule.lines for rule in rules} | self._default_lines()
        return Policy(
            str(name), text, tuple(allow), tuple(deny), tuple(processes), egress, tuple(hosts),
            lines,
        )  # fmt: skip

    def _version(self, top: dict[str, Any]) -> None:
        version, word = top.get("apiVersion"), top.get("kind")
        if isinstance(version, str) and _OLD.fullmatch(version):
            problem = self.document.problem(
                ("apiVersion",), f"apiVersion {shown(version)} is the old v1 format",
                f"write it anew as {API_VERSION}: audit policy schema",
            )  # fmt: skip
            raise YamlError([problem])
        if "apiVersion" in top and version != API_VERSION:
            self._fault(("apiVersion",), f"unknown apiVersion {shown(version)}", API_VERSION)
        if "kind" in top and word != KIND:
            self._fault(("kind",), f"unknown kind {shown(word)}", KIND)

    def _filesystem(self, spec: dict[str, Any]) -> tuple[list[PathRule], list[PathRule]]:
        if "filesystem" not in spec:
            return [], []
        loc = ("spec", "filesystem")
        section = self._map(loc, "spec.filesystem")
        if not section and spec["filesystem"] == {}:
            self._fault(loc, "spec.filesystem is empty", "allow, deny, or leave it out")
        allow = [self._path_rule(at, "allow") for at in self._items(section, (*loc, "allow"))]
        deny = [self._path_rule(at, "deny") for at in self._items(section, (*loc, "deny"))]
        return [rule for rule in allow if rule], [rule for rule in deny if rule]

    def _path_rule(self, loc: Loc, section: Any) -> PathRule | None:
        data = self._value(loc)
        if isinstance(data, str):
            self._fault(loc, f"{_dotted(loc)} must be a map, not text", f"- path: {quoted(data)}")
            return None
        rule = self._map(loc, None, RULE_FIELDS, ("path",))
        stated = "access" in rule
        access = self._access((*loc, "access")) if stated else BOTH
        path = self._text((*loc, "path")) if "path" in rule else None
        if path is None or not self._path((*loc, "path"), path):
            return None
        place = self.document.values[(*loc, "path")]
        return PathRule(section, int(loc[-1]), path, access, stated, place, self._lines(loc))

    def _path(self, loc: Loc, path: str) -> bool:
        name = _dotted(loc)
        if found := path_problem(path):
            message, hint = found
            self._fault(loc, f"{name}: {message}", hint)
            return False
        try:
            rule_pattern(path)
        except ValueError as error:
            self._fault(loc, f"{name}: {error}")
            return False
        return True

    def _access(self, loc: Loc) -> tuple[str, ...]:
        words: list[str] = []
        for at in self._list(loc):
            word = self._value(at)
            if word in words:
                self._fault(at, f"{_dotted(loc)}: {word} twice")
            elif word not in BOTH:
                hint = near(word, BOTH) or _ACCESS_HINT
                self._fault(at, f"{_dotted(loc)}: unknown access {shown(word)}", hint)
            else:
                words.append(word)
        return tuple(word for word in BOTH if word in words)

    def _processes(self, spec: dict[str, Any]) -> list[NameRule]:
        if "process" not in spec:
            return []
        loc = ("spec", "process")
        section = self._map(loc, "spec.process")
        found = []
        for at in self._items(section, (*loc, "allow")):
            name = self._text(at)
            if name is not None and self._process_name(at, name):
                place = self.document.values[at]
                found.append(NameRule(int(at[-1]), name, place, self._lines(at)))
        return found

    def _process_name(self, loc: Loc, name: str) -> bool:
        hint = None
        if not name or name != name.strip():
            what = "an empty name" if not name.strip() else "blanks around a name"
        elif "/" in name:
            what, hint = "a path, where a name is compared", name.rstrip("/").rpartition("/")[2]
        elif any(sign in name for sign in "*?["):
            what = f"pattern {shown(name)}, where names are compared as they are"
            hint = "name each program"
        else:
            return True
        self._fault(loc, f"{_dotted(loc)}: {what}", hint)
        return False

    def _network(self, spec: dict[str, Any]) -> tuple[Any, list[HostRule]]:
        if "network" not in spec:
            return None, []
        loc = ("spec", "network")
        section = self._map(loc, "spec.network")
        egress = section.get("egress")
        where = (*loc, "egress")
        if isinstance(egress, str):
            if egress not in _EGRESS:
                hint = near(egress, _EGRESS) or 'deny-all, allow-all or a list: ["host:port"]'
                self._fault(where, f"spec.network.egress: unknown word {shown(egress)}", hint)
            return egress, []
        if "egress" in section and not isinstance(egress, list):
            what = f"spec.network.egress must be deny-all, allow-all or a list, not {kind(egress)}"
            self._fault(where, what)
            return None, []
        rules = [self._host_rule(at) for at in self._items(section, where, "deny-all")]
        return "list", [rule for rule in rules if rule]

    def _host_rule(self, loc: Loc) -> HostRule | None:
        data = self._value(loc)
        if isinstance(data, dict):
            hint = 'no blank after the colon: "host:port"'
            self._fault(loc, f"{_dotted(loc)} must be text, not a map", hint)
            return None
        text = self._text(loc)
        if text is None:
            return None
        if found := host_problem(text):
            message, hint_ = found
            self._fault(loc, f"{_dotted(loc)}: {message}", hint_)
            return None
        host, port = split_host(text)
        place = self.document.values[loc]
        return HostRule(int(loc[-1]), host, port, place, self._lines(loc))

    def _map(
        self, loc: Loc, name: str | None, known: Sequence[str] = (), needed: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The map at `loc`, unknown keys and missing ones noted; empty if it is none."""
        if name is not None:
            known, needed = FIELDS[name], _NEEDED.get(name, ())
        here = _dotted(loc)
        data = self._value(loc)
        if not isinstance(data, dict):
            what = f"{here} must" if here else "a policy must"
            self._fault(loc, f"{what} be a map, not {kind(data)}", ", ".join(known))
            return {}
        # A misspelt key is not missing as well.
        meant = {n for key in data if key not in known for n in close(key, known)}
        for key in data:
            if key not in known:
                hint = _HINTS.get((name or "", key)) or near(key, known) or ", ".join(known)
                self._fault((*loc, key), f"unknown field {shown(_join(here, key))}", hint, True)
        for key in needed:
            if key not in data and key not in meant:
                self._fault(loc, f"missing field '{_join(here, key)}'", None, True)
        return data

    def _items(self, section: dict[str, Any], loc: Loc, instead: str = "") -> list[Loc]:
        if loc[-1] not in section:
            return []
        return self._list(loc, instead)

    def _list(self, loc: Loc, instead: str = "") -> list[Loc]:
        data = self._value(loc)
        if not isinstance(data, list):
            hint = f"[{quoted(data)}]" if isinstance(data, str) else None
            self._fault(loc, f"{_dotted(loc)} must be a list, not {kind(data)}", hint)
            return []
        if not data:
            self._fault(loc, f"{_dotted(loc)}: empty list", instead or "leave it out")
        return [(*loc, number) for number in range(len(data))]

    def _text(self, loc: Loc) -> str | None:
        data = self._value(loc)
        if isinstance(data, str):
            return data
        hint = f'quote it: "{data}"' if isinstance(data, int | float) else None
        self._fault(loc, f"{_dotted(loc)} must be text, not {kind(data)}", hint)
        return None

    def _value(self, loc: Loc) -> Any:
        data = self.document.data
        for step in loc:
            data = data[step]
        return data

    def _lines(self, loc: Loc) -> Lines:
        inside: list[Loc] = [loc]
        data = self._value(loc)
        if isinstance(data, dict):
            inside += [(*loc, key) for key in data]
            access = data.get("access")
            if isinstance(access, list):
                inside += [(*loc, "access", number) for number in range(len(access))]
        lines = [self.document.values[at][0] for at in inside]
        return min(lines), max(lines)

    def _default_lines(self) -> dict[str, Lines]:
        found = {}
        for name, *steps in (
            (FILESYSTEM_DEFAULT, "filesystem", "allow"),
            (PROCESS_DEFAULT, "process", "allow"),
            (NETWORK_DEFAULT, "network", "egress"),
        ):
            loc = ("spec", *steps)
            if loc in self.document.keys:
                line = self.document.keys[loc][0]
                found[name] = (line, line)
                if name == NETWORK_DEFAULT:
                    found["network.egress.deny-all"] = found["network.egress.allow-all"] = (
                        line,
                        self.document.values[loc][0],
                    )
        return found

    def _fault(self, loc: Loc, message: str, hint: str | None = None, key: bool = False) -> None:
        message, hint = clipped(message), hint and clipped(hint)
        self.problems.append(self.document.problem(loc, message, hint, key=key))
        # In a map unknown keys come before its values, so a few more than are shown keep the order.
        if len(self.problems) >= 4 * MAX_PROBLEMS:
            self._stop()

    def _stop(self) -> NoReturn:
        raise _Enough


def _join(parent: str, key: str) -> str:
    return f"{parent}.{key}" if parent else key


def _dotted(loc: Loc) -> str:
    out = ""
    for step in loc:
        out += f"[{step}]" if isinstance(step, int) else (f".{step}" if out else step)
    return out
