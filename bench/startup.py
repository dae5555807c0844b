"""How long the commands that must answer at once take, as ratios to things one cannot avoid."""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measure import AUDIT, Table, run

LOG = Path(__file__).parent.parent / "examples" / "agent-demo.jsonl"
FLOOR = [sys.executable, "-c", "import typer, sqlite3"]
ENGINE = [sys.executable, "-c", "import duckdb; duckdb.sql('SELECT 1').fetchall()"]


def measured(repeats: int) -> list[Table]:
    """Medians over rounds in which every command runs once, so that load hits all alike.

    The round before them compiles and warms, and is not counted.
    """
    with tempfile.TemporaryDirectory(prefix="sandtrail-bench-") as room:
        env = {
            "XDG_CONFIG_HOME": f"{room}/config",
            "AUDIT_STORE": f"{room}/store",
            # What is installed is compiled once; a bench that compiled our modules each time, and
            # not those of others, would measure the compiler.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": f"{room}/compiled",
        }
        run([AUDIT, "collect", str(LOG), "--once"], env)
        commands = {
            'python -c "import typer, sqlite3"': FLOOR,
            "python -c, bare duckdb": ENGINE,
            "audit --help": [AUDIT, "--help"],
            "audit": [AUDIT],
            "audit status": [AUDIT, "status"],
            "audit gaps": [AUDIT, "gaps"],
            "audit runs": [AUDIT, "runs"],
            "completion of a run": [AUDIT, "_complete", "query", "-r", ""],
            "audit query --deny": [AUDIT, "query", "--deny"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for round_ in range(repeats + 1):
            for name, command in commands.items():
                cost = run(command, env)
                if round_:
                    times[name].append(cost.wall_s)
    return [report({name: statistics.median(values) for name, values in times.items()}, repeats)]


def report(medians: dict[str, float], repeats: int) -> Table:
    """The medians and their ratios to the two floors."""
    table = Table(
        "Start-up",
        f"Medians of {repeats} interleaved rounds over the example store (3,411 events).",
        ("command", "ms", "x import typer, sqlite3", "x bare duckdb"),
    )
    floor, engine = list(medians.values())[:2]
    for name, value in medians.items():
        table.add(name, f"{value * 1000:.0f}", f"{value / floor:.2f}", f"{value / engine:.2f}")
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    for table in measured(parser.parse_args().repeats):
        print(table.markdown())


if __name__ == "__main__":
    main()
