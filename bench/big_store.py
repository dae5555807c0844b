"""A real store of many events for the service's bench: whole days of agent runs, ending now.

The lines of one day are made once; every day gets them with its own times and runs, through `audit
collect` itself, so the archive is what a collector leaves behind.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import corpus
from measure import AUDIT

DAY = timedelta(days=1)


def day_lines(events: int) -> list[tuple[str, str]]:
    """The lines of a day without time and run: what stands between the two, and after."""
    lines = []
    for chunk in corpus.records(events):
        for record in chunk:
            rest = {k: v for k, v in record.items() if k not in ("ts", "correlation_id")}
            lines.append((str(record["correlation_id"]), json.dumps(rest, separators=(",", ":"))))
    return lines


def write_day(path: Path, lines: list[tuple[str, str]], begin: datetime, number: int) -> None:
    """One day's log, its events spread evenly over 24 hours."""
    step = DAY / len(lines)
    with path.open("w") as file:
        for first in range(0, len(lines), corpus.CHUNK_EVENTS):
            file.writelines(_stamped(lines, first, begin, step, number))


def _stamped(
    lines: list[tuple[str, str]], first: int, begin: datetime, step: timedelta, number: int
) -> Iterator[str]:
    for n in range(first, min(first + corpus.CHUNK_EVENTS, len(lines))):
        run, rest = lines[n]
        at = (begin + n * step).isoformat(timespec="microseconds").replace("+00:00", "Z")
        yield f'{{"ts":"{at}","correlation_id":"d{number:02}{run}",{rest[1:]}\n'


def build(root: Path, events: int, days: int) -> Path:
    """The store under `root`; days that are in it already are kept."""
    store = root / "store"
    root.mkdir(parents=True, exist_ok=True)
    missing = [n for n in range(days) if not _marker(root, events, days, n).exists()]
    lines = day_lines(events // days) if missing else []
    end = datetime.now(UTC)
    for number in missing:
        log = root / f"day{number:02}.jsonl"
        write_day(log, lines, end - (days - number) * DAY, number)
        subprocess.run(
            [AUDIT, "collect", str(log), "--once", "--store", str(store)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        log.unlink()
        _marker(root, events, days, number).touch()
    return store


def _marker(root: Path, events: int, days: int, number: int) -> Path:
    """A day that is in the store."""
    return root / f"built-{events}-{days}-{number:02}"


def main() -> None:
    """Build and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--days", type=int, default=20)
    args = parser.parse_args()
    print(build(args.root, args.events, args.days))


if __name__ == "__main__":
    sys.exit(main())
