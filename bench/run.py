"""All benches one after another; writes RESULTS.md beside this file."""

import argparse
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import collect_rate
import live_latency
import startup
from measure import Table, facts

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"


def revision() -> str:
    """The commit that was measured."""
    command = ["git", "describe", "--always", "--dirty"]
    said = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


# Benches that print a page of their own; each is also run by hand.
PAGES = {
    "Decoders": ["decode.py"],
    "Attribution to policy rules": ["attribution.py"],
    "Redaction": ["redaction.py"],
}


def page(title: str, words: list[str]) -> str:
    """What a bench of its own prints, as it stands."""
    ran = subprocess.run(
        [sys.executable, *words], cwd=HERE, capture_output=True, text=True, check=False
    )
    said = ran.stdout.strip() or f"no figures: exit {ran.returncode}"
    return f"### {title}\n\n```text\n{said}\n```"


def document(tables: list[Table], setting: list[str]) -> str:
    """The results page."""
    parts = ["# Bench results", "Written by `make bench`; do not edit.", "\n".join(setting)]
    return "\n\n".join([*parts, *(table.markdown() for table in tables)])


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="events a format")
    parser.add_argument("--repeats", type=int, default=2, help="runs a contestant, best counts")
    parser.add_argument("--rate", type=int, default=1_000, help="live events a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of the live run")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the start-up bench")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    today = datetime.now(UTC).date().isoformat()
    setting = [f"- {today}, revision {revision()}", *facts()]
    tables = live_latency.measured(args.rate, args.seconds)
    tables += startup.measured(args.rounds)
    tables += collect_rate.measured(args.events, args.repeats)
    text = document(tables, setting)
    for title, words in PAGES.items():
        text += "\n\n" + page(title, words)
    text += "\n"
    args.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
