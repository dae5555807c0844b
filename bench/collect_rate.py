"""Events a second of `audit collect --once`, beside what people write first, and by the share of
secrets on one core and on all."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import corpus
import secret_logs
from measure import AUDIT, Cost, Table, cores, pinned, run

BASELINE = str(Path(__file__).with_name("baseline.py"))
# The memory row reads this many times the input.
MEMORY_FACTOR = 5


def measured(events: int, repeats: int) -> list[Table]:
    """The rate table, the memory table, and the one by the share of secrets."""
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
    return [rate, memory, by_secrets(events, repeats)]


def by_secrets(events: int, repeats: int) -> Table:
    """JSON records with more and more secrets, on one core and as a user runs it."""
    secrets = known_secrets()
    table = Table(
        f"Rate by the share of secrets: {events:,} JSON events",
        "`audit collect --once` on one core (taskset) and on the whole machine, whose load is told "
        "by wall beside cpu: where wall exceeds it, others had the cores. Ordinary: decision "
        "records, a share of which has a secret as its message, of every kind we know. "
        f"Best of {repeats}.",
        ("secrets", "cores", "events/s", "events/s of cpu", "wall s", "cpu s", "peak MB"),
    )
    with tempfile.TemporaryDirectory(prefix="sandtrail-bench-") as room:
        log = Path(room) / "events.json"
        for share in secret_logs.SHARES:
            secret_logs.ordinary(log, events, share, secrets)
            for where in ("1", str(cores())):
                cost = best(Path(room), "audit collect --once", log, repeats, whole=where != "1")
                table.add(
                    f"{share:.0%}", where, f"{events / cost.wall_s:,.0f}",
                    f"{events / cost.cpu_s:,.0f}", f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}",
                    f"{cost.rss_mb:.0f}",
                )  # fmt: skip
    return table


def known_secrets() -> list[str]:
    """One-line examples of every rule."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from policies.redact.rules import ALL_RULES

    return [text for rule in ALL_RULES for text in rule.hits if "\n" not in text]


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


def best(room: Path, name: str, log: Path, repeats: int, *, whole: bool = False) -> Cost:
    """The quickest of some runs, each into a fresh place."""
    runs = (once(room, name, log, whole=whole) for _ in range(repeats))
    return min(runs, key=lambda cost: cost.wall_s)


def once(room: Path, name: str, log: Path, *, whole: bool) -> Cost:
    """One run, its place removed afterwards."""
    with tempfile.TemporaryDirectory(dir=room) as place:
        env = {"XDG_CONFIG_HOME": f"{place}/config"}
        commands = {
            "audit": [AUDIT, "collect", str(log), "--once", "--store", f"{place}/store"],
            "row-by-row": [sys.executable, BASELINE, "row-by-row", str(log), f"{place}/db"],
            "executemany": [sys.executable, BASELINE, "executemany", str(log), f"{place}/db"],
            "jq": ["jq", "-c", ".", str(log)],
        }
        command = commands[name.split(maxsplit=1)[0]]
        return run(command if whole else pinned(command), env)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--secrets-only", action="store_true", help="the last table only")
    args = parser.parse_args()
    few, events, repeats = args.secrets_only, args.events, args.repeats
    for table in [by_secrets(events, repeats)] if few else measured(events, repeats):
        print(table.markdown())


if __name__ == "__main__":
    main()
