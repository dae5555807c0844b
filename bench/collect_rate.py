"""Events a second of `audit collect --once` on one core, beside what people write first."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import corpus
from measure import AUDIT, Cost, Table, pinned, run

BASELINE = str(Path(__file__).with_name("baseline.py"))
# The memory row reads this many times the input.
MEMORY_FACTOR = 5


def measured(events: int, repeats: int) -> list[Table]:
    """The rate table and the memory table."""
    rate = Table(
        f"Rate: {events:,} events, one core",
        "End to end: read, decode, redact, commit, seal. `x row-by-row` compares with the plain "
        "Python loop of the same format in the same run; best of "
        f"{repeats}. SQLite rows hold 13 columns, ours all of the schema, masked.",
        ("format", "what", "events/s", "x row-by-row", "wall s", "cpu s", "peak MB"),
    )
    memory = Table(
        f"Memory: the same and {MEMORY_FACTOR} times the input",
        "Peak resident memory of the collector.",
        ("format", "events", "peak MB", "events/s"),
    )
    with tempfile.TemporaryDirectory(prefix="sandtrail-bench-") as room:
        for form in corpus.FORMATS:
            one_format(Path(room), form, events, repeats, (rate, memory))
    return [rate, memory]


def one_format(
    room: Path, form: str, events: int, repeats: int, tables: tuple[Table, Table]
) -> None:
    """Measure one format into both tables."""
    rate, memory = tables
    log = room / f"events.{form}"
    corpus.write(log, form, events)
    costs = {name: best(room, name, log, repeats) for name in contestants(form)}
    basis = costs["row-by-row Python + SQLite"].wall_s
    for name, cost in costs.items():
        ratio, speed = f"{basis / cost.wall_s:.1f}", f"{events / cost.wall_s:,.0f}"
        rate.add(
            form,
            name,
            speed,
            ratio,
            f"{cost.wall_s:.2f}",
            f"{cost.cpu_s:.2f}",
            f"{cost.rss_mb:.0f}",
        )
    ours = costs["audit collect --once"]
    memory.add(form, f"{events:,}", f"{ours.rss_mb:.0f}", f"{events / ours.wall_s:,.0f}")
    large = room / f"large.{form}"
    with large.open("wb") as out:
        for _ in range(MEMORY_FACTOR):
            with log.open("rb") as part:
                shutil.copyfileobj(part, out)
    cost, many = best(room, "audit collect --once", large, 1), events * MEMORY_FACTOR
    memory.add(form, f"{many:,}", f"{cost.rss_mb:.0f}", f"{many / cost.wall_s:,.0f}")
    large.unlink()
    log.unlink()


def contestants(form: str) -> list[str]:
    """Who takes part; jq reads JSON only and stores nothing."""
    names = ["audit collect --once", "row-by-row Python + SQLite", "executemany into SQLite"]
    return [*names, "jq -c . (stores nothing)"] if form == "json" and shutil.which("jq") else names


def best(room: Path, name: str, log: Path, repeats: int) -> Cost:
    """The quickest of some runs, each into a fresh place."""
    return min((once(room, name, log) for _ in range(repeats)), key=lambda cost: cost.wall_s)


def once(room: Path, name: str, log: Path) -> Cost:
    """One run, its place removed afterwards."""
    with tempfile.TemporaryDirectory(dir=room) as place:
        env = {"XDG_CONFIG_HOME": f"{place}/config"}
        commands = {
            "audit": [AUDIT, "collect", str(log), "--once", "--store", f"{place}/store"],
            "row-by-row": [sys.executable, BASELINE, "row-by-row", str(log), f"{place}/db"],
            "executemany": [sys.executable, BASELINE, "executemany", str(log), f"{place}/db"],
            "jq": ["jq", "-c", ".", str(log)],
        }
        return run(pinned(commands[name.split(maxsplit=1)[0]]), env)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    for table in measured(args.events, args.repeats):
        print(table.markdown())


if __name__ == "__main__":
    main()
