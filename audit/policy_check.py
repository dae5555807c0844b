"""`audit policy validate` and `schema`."""

import json
from typing import Any

from audit import screen as output
from audit.call import Call
from audit.policy_files import checked_format, problem_line, read_bytes, shown_name
from audit_events.errors import Exit
from policies.lint import Finding, lint
from policies.load import parse_policy
from policies.schema import policy_schema
from policies.yaml_text import Problem, YamlError


def validate(call: Call, file: str, form: str, *, strict: bool) -> Exit:
    """Print whether a policy is valid; SETTINGS if not, ANSWER_NO for warnings with `strict`."""
    as_json = checked_format(form) == "json"
    data = read_bytes(file)
    try:
        policy = parse_policy(data)
    except YamlError as error:
        _tell(call, file, [("error", problem) for problem in error.problems])
        if as_json:
            faults = [_record("error", "invalid", problem) for problem in error.problems]
            output.put([json.dumps({"file": shown_name(file), "valid": False, "problems": faults})])
        return Exit.SETTINGS
    found = lint(policy)
    warnings = [finding for finding in found if finding.level == "warning"]
    _tell(call, file, [(finding.level, finding.problem) for finding in found])
    if as_json:
        records = [
            _record(f.level, f.code, f.problem)
            | {"rule": f.rule} | ({"witness": f.witness} if f.witness else {})
            for f in found
        ]  # fmt: skip
        output.put([json.dumps(_verdict(file, policy.name, policy.digest, found, records))])
    else:
        output.put([f"policy valid ({len(warnings)} warning{'s' * (len(warnings) != 1)})"])
    return Exit.ANSWER_NO if strict and warnings else Exit.DONE


def _verdict(
    file: str, name: str, digest: str, found: list[Finding], records: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "file": shown_name(file), "valid": True, "name": name, "digest": f"sha256:{digest}",
        "warnings": sum(finding.level == "warning" for finding in found), "problems": records,
    }  # fmt: skip


def _tell(call: Call, file: str, told: list[tuple[str, Problem]]) -> None:
    voice = output.screen(call).voice
    for severity, problem in told:
        voice.line(problem_line(shown_name(file), severity, problem))


def _record(severity: str, code: str, problem: Problem) -> dict[str, Any]:
    record = {
        "line": problem.line, "column": problem.column, "severity": severity, "code": code,
        "message": problem.message,
    }  # fmt: skip
    return record | ({"hint": problem.hint} if problem.hint else {})


def print_schema(_call: Call) -> None:
    """Print the JSON Schema."""
    output.put(json.dumps(policy_schema(), indent=2).split("\n"))
