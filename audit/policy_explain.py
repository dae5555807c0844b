"""`audit policy explain`: what a policy file says of an operation that nobody has tried yet."""

import json
import sys
from dataclasses import dataclass
from typing import Any

from audit import screen as output
from audit.call import Call
from audit.page_policy import explanation_lines
from audit.policy_files import checked_format, read_policy, shown_name
from audit_events.errors import Exit, UsageError
from policies.decide import NEEDS, Operation
from policies.explain import Explanation, explanation
from policies.hosts import host_problem, split_host
from policies.model import Policy
from policies.wording import path_problem


@dataclass(frozen=True, slots=True)
class Asked:
    """The flags of one question."""

    path: str | None
    access: str | None
    dst: str | None
    process: str | None
    macos: bool | None

    def operation(self) -> Operation:
        """The operation that is meant; UsageError if it is not exactly one."""
        if sum(value is not None for value in (self.path, self.dst, self.process)) != 1:
            raise UsageError("one of --path, --dst, --process")
        if self.access is not None and self.path is None:
            raise UsageError("--access goes with --path")
        if self.path is not None:
            return self._file(self.path)
        if self.dst is not None:
            if found := host_problem(self.dst):
                raise UsageError(f"--dst {found[0]}", hint=found[1])
            host, port = split_host(self.dst)
            return Operation("network", "connect", host=host, port=port)
        return Operation("process", "exec", self.process)

    def _file(self, path: str) -> Operation:
        access = self.access or "read"
        if access not in NEEDS:
            raise UsageError(f"--access {access}: no access", hint=", ".join(NEEDS))
        found = path_problem(path)
        if found or not path.startswith("/"):
            message, hint = found or (f"'{path}' is a pattern", "an absolute path")
            raise UsageError(f"--path: {message}", hint=hint)
        return Operation("filesystem", access, path)


def explain(call: Call, file: str, asked: Asked, form: str) -> Exit:
    """Print decision, rule, its lines, why, and what would change it."""
    operation = asked.operation()
    as_json = checked_format(form) == "json"
    policy = read_policy(call, file)
    macos = asked.macos if asked.macos is not None else sys.platform == "darwin"
    found = explanation(policy, operation, macos=macos)
    if found is None:
        raise UsageError("the policy cannot know", hint="a name and an address may be one machine")
    if as_json:
        output.put([json.dumps(_record(policy, operation, found))])
        return Exit.DONE
    screen = output.screen(call)
    output.put(explanation_lines(policy, operation, found, shown_name(file), screen))
    return Exit.DONE


def _record(policy: Policy, operation: Operation, found: Explanation) -> dict[str, Any]:
    edit = found.flip.edit
    record: dict[str, Any] = {
        "policy": policy.name, "policy_digest": f"sha256:{policy.digest}",
        "resource": operation.resource, "access": operation.access,
        "decision": found.verdict.decision, "policy_rule": found.verdict.rule,
        "lines": list(found.lines) if found.lines else None,
        "lost": list(found.verdict.lost), "why": found.why,
        "flip": {"first": edit.first, "last": edit.last, "lines": list(edit.lines)}
        if edit else None,
        "flip_note": ". ".join(text for text in (found.flip.words, found.flip.advice) if text),
    }  # fmt: skip
    return {key: value for key, value in record.items() if value not in (None, "")}
