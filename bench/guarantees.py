"""Run the torture tests and write their figures into docs/guarantees.md.

A torture test reports a figure with pytest's `record_property(name, value)`, or prints a line of
them. The table of promises above the figures is written by hand and checked by tests/docs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from measure import Table, facts

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guarantees.md"
BEGIN = "<!-- figures: written by make torture -->"


@dataclass(frozen=True)
class Result:
    """What one torture test did."""

    test: str
    outcome: str
    seconds: float
    figures: str


def torture(report: Path, seed: int, words: list[str]) -> int:
    """Run the tests, their output as it comes; pytest's exit code."""
    chosen = words or ["tests"]
    command = [sys.executable, "-m", "pytest", "-m", "torture", "--timeout=3600", "-rA"]
    command += [
        f"--hypothesis-seed={seed}",
        f"--junitxml={report}",
        "-o",
        "junit_logging=system-out",
        *chosen,
    ]
    env = {**os.environ, "SANDTRAIL_SEED": str(seed)}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def results(report: Path) -> list[Result]:
    """The test cases of a JUnit report that this run itself wrote."""
    return [result(case) for case in ET.parse(report).getroot().iter("testcase")]  # noqa: S314


def result(case: ET.Element) -> Result:
    """One test case with its properties."""
    bad = [tag for tag in ("failure", "error", "skipped") if case.find(tag) is not None]
    figures = [f"{p.get('name')} {p.get('value')}" for p in case.iter("property")]
    printed = (case.findtext("system-out") or "").strip().splitlines()
    figures = figures or [line for line in printed[-1:] if not line.startswith("---")]
    test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
    outcome = bad[0] if bad else "passed"
    return Result(test, outcome, float(case.get("time", 0)), ", ".join(figures))


def section(outcomes: list[Result], seed: int) -> str:
    """The generated end of the page."""
    note = "\n".join([f"- {datetime.now(UTC).date().isoformat()}, seed {seed}", *facts()])
    table = Table("Last figures", note, ("test", "outcome", "s", "figures"))
    for one in outcomes:
        table.add(f"`{one.test}`", one.outcome, f"{one.seconds:.0f}", one.figures)
    return table.markdown()


def main() -> int:
    """Run, write the page, give pytest's exit code on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the page for chosen tests too")
    parser.add_argument("tests", nargs="*", help="only these tests; the page is left alone")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        report = Path(room, "report.xml")
        code = torture(report, args.seed, args.tests)
        text = section(results(report), args.seed)
    head = PAGE.read_text().partition(BEGIN)[0]
    if args.write or not args.tests:
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}")
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
