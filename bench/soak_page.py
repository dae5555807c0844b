"""The page of the soak: how it went over time, what was done, and whether all of it held."""

import statistics
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from measure import Table, facts
from run import revision
from soak_watch import Sample, medians

if TYPE_CHECKING:
    from soak import Room, Soak

# A young process still fills its caches; a life that ends soon after says nothing.
WARM_UP_S = 120.0
LONG_LIFE_S = 300.0
SEGMENTS = 6
WITHIN = 0.10
# A source that starts its program anew holds some more for a moment.
FLAT_DESCRIPTORS = 3
MOST_MORE_DESCRIPTORS = 40
# What the unit file allows all processes together before it slows them down.
MOST_MB = 1_500
# After an outage the reader is late until the backlog is read: for as long again, and some more.
GRACE_S = 15.0
LAG_P99_S = 5.0


def per_source(room: "Room") -> dict[str, dict[str, int]]:
    """How many events of each source are stored, and how many different ones."""
    number = "CASE source WHEN 'oslog' THEN CAST(regexp_extract(path, '[0-9]+$') AS BIGINT) "
    number += "ELSE latency_us END"
    asked = f"SELECT source, count(*) AS stored, count(DISTINCT {number}) AS different,"
    asked += f" max({number}) AS last FROM events WHERE kind = 'decision' GROUP BY source"
    return {row["source"]: row for row in room.ask("sql", asked)}


def exact_table(given: dict[str, int], found: dict[str, dict[str, int]]) -> tuple[Table, bool]:
    """Given and stored side by side."""
    table = Table(
        "Exactly once",
        "Each event carries a number of its own; a source is whole when as many are stored as were"
        " written, all different, up to the last.",
        ("source", "written", "stored", "different", "exact"),
    )
    whole = True
    for name, count in given.items():
        row = found.get(name, {"stored": 0, "different": 0, "last": 0})
        exact = row["stored"] == row["different"] == row["last"] == count
        whole = whole and exact
        cells = (f"{count:,}", f"{row['stored']:,}", f"{row['different']:,}")
        table.add(name, *cells, "yes" if exact else "NO")
    return table, whole


def quiet(soak: "Soak", at: float) -> bool:
    """Whether nothing that holds events up was done at that moment or just before."""
    held = [(a, b) for a, b, text in soak.room.happened if "log stream" not in text]
    return not any(since - 1 <= at <= 2 * until - since + GRACE_S for since, until in held)


def time_table(soak: "Soak") -> Table:
    """How it went, in segments."""
    table = Table(
        "Over time",
        "Medians of each segment, in brackets the largest; lag is from the append of a line to its "
        "print by `audit tail -f` in another process. Compaction runs in a child process.",
        ("minutes", "RSS MB", "descriptors", "children MB", "lag p50 ms", "lag max ms",
         "spool MB", "store MB"),
    )  # fmt: skip
    length = soak.seconds / SEGMENTS
    table.add("start", *cells([s for s in soak.watch.samples if s.at < 10], soak, 0, 10))
    for part in range(SEGMENTS):
        low, high = part * length, (part + 1) * length
        inside = [s for s in soak.watch.samples if low <= s.at < high]
        table.add(f"{low / 60:.1f}-{high / 60:.1f}", *cells(inside, soak, low, high))
    last = soak.seconds - 10
    ending = [s for s in soak.watch.samples if last <= s.at < soak.seconds]
    table.add("end", *cells(ending, soak, last, soak.seconds))
    return table


def cells(samples: list[Sample], soak: "Soak", low: float, high: float) -> list[str]:
    """One row of the table."""
    lags = [1000 * lag for at, lag in soak.probes.lags if low <= at < high]
    if not samples or not lags:
        return ["-"] * 7
    spread = [
        f"{statistics.median(values):.0f} ({max(values):.0f})"
        for values in (
            [s.rss_mb for s in samples],
            [float(s.descriptors) for s in samples],
            [s.children_mb for s in samples],
        )
    ]
    end = samples[-1]
    return [*spread, f"{statistics.median(lags):.0f}", f"{max(lags):,.0f}",
            f"{end.spool_mb:.1f}", f"{end.store_mb:.0f}"]  # fmt: skip


def long_lives(soak: "Soak") -> list[list[Sample]]:
    """What was seen of each collector that lived for long, once it was warm."""
    warm, long = (min(s, soak.seconds / part) for s, part in ((WARM_UP_S, 10), (LONG_LIFE_S, 5)))
    lives: list[list[Sample]] = []
    for sample in soak.watch.samples:
        if not lives or sample.age < lives[-1][-1].age:
            lives.append([])
        lives[-1].append(sample)
    return [[s for s in life if s.age > warm] for life in lives if life[-1].age >= long]


def memory_check(soak: "Soak") -> tuple[str, bool]:
    """Of each long life every minute within ten percent of its middle, once warm."""
    said, flat = [], True
    for life in long_lives(soak):
        values = medians([(s.at, s.rss_mb) for s in life], soak.seconds / 30)
        middle = statistics.median(values)
        low, high = min(values) / middle - 1, max(values) / middle - 1
        said.append(f"{middle:.0f} MB {low:+.1%} {high:+.1%}")
        flat = flat and max(-low, high) <= WITHIN
    text = f"RSS by the minute, of each collector that lived for long: {'; '.join(said)}"
    return text, flat and bool(said)


def together_check(soak: "Soak") -> tuple[str, bool]:
    """Compaction and all, within what a service may take."""
    most = max(s.rss_mb + s.children_mb for s in soak.watch.samples)
    return f"collector and its children together at most {most:,.0f} MB", most <= MOST_MB


def descriptor_check(soak: "Soak") -> tuple[str, bool]:
    """As many at the end of a long life as at its beginning, and never many more."""
    said, flat = [], True
    for life in long_lives(soak):
        third = len(life) // 3
        first, last = (
            statistics.median(s.descriptors for s in part) for part in (life[:third], life[-third:])
        )
        most = max(s.descriptors for s in life)
        said.append(f"{first:.0f} then {last:.0f}, never over {most}")
        flat = flat and last <= first + FLAT_DESCRIPTORS and most <= first + MOST_MORE_DESCRIPTORS
    return f"descriptors, first and last third of each life: {'; '.join(said)}", flat and bool(said)


def lag_check(soak: "Soak") -> tuple[str, bool]:
    """Short while nothing happens, and no longer than the outage itself else."""
    calm = sorted(lag for at, lag in soak.probes.lags if quiet(soak, at))
    p99, worst = calm[int(len(calm) * 0.99)], max(lag for _, lag in soak.probes.lags)
    longest = max(until - since for since, until, _ in soak.room.happened)
    text = f"lag p50 {1000 * statistics.median(calm):.0f} ms, p99 {1000 * p99:.0f} ms, max"
    text += f" {calm[-1]:.1f} s; with outages {worst:.1f} s (longest outage {longest:.1f} s)"
    return text, p99 <= LAG_P99_S and worst <= longest + GRACE_S


def reader_check(soak: "Soak") -> tuple[str, bool]:
    """The reader that followed all the while printed each probe once, from its first on."""
    printed = soak.probes.numbers
    asked = "SELECT count(*) AS n FROM events WHERE sandbox = 'probe'"
    asked += f" AND latency_us >= {min(printed)}"
    stored = int(soak.room.ask("sql", asked)[0]["n"])
    text = f"the reader printed {len(printed):,} of {stored:,} probes, {len(set(printed)):,}"
    return f"{text} different", len(printed) == len(set(printed)) == stored


def gap_check(soak: "Soak") -> tuple[str, bool]:
    """Each outage of the log is told, none is left open, and nobody else had one.

    A collector that ends right after the log does has said nothing yet: its heir reads that back.
    """
    gaps, begun = soak.room.ask("gaps"), time.time() - soak.room.now
    stops = [begun + since for since, _, text in soak.room.happened if "collector" in text]
    told = [
        kill
        for kill in soak.room.log_kills
        if any(g["since"] / 1e6 - 2 <= kill <= (g["until"] or 0) / 1e6 + 2 for g in gaps)
        or any(0 <= stop - kill < GRACE_S for stop in stops)
    ]
    sources, open_ = {gap["source"] for gap in gaps}, sum(gap["until"] is None for gap in gaps)
    text = f"{len(gaps)} gaps of {', '.join(sorted(sources)) or 'nobody'}; {len(told)} of "
    text += f"{len(soak.room.log_kills)} kills of log are told by one; {open_} open"
    return text, len(told) == len(soak.room.log_kills) and not open_ and sources == {"oslog"}


def dense_check(soak: "Soak") -> tuple[str, bool]:
    """The numbers of the trail have no hole."""
    row = soak.room.ask("sql", "SELECT count(*) AS n, max(seq) AS last FROM events")[0]
    return f"{int(row['n']):,} rows, last seq {int(row['last']):,}", row["n"] == row["last"]


def page(soak: "Soak", rate: int, given: dict[str, int]) -> tuple[str, bool]:
    """The result, and whether everything held."""
    exact, whole = exact_table(given, per_source(soak.room))
    checks = [check(soak) for check in (memory_check, together_check, descriptor_check, lag_check,
                                        reader_check, gap_check, dense_check)]  # fmt: skip
    checks.append((f"{sum(given.values()):,} events, each stored once", whole))
    done = Table("What was done", "Minutes since the start.", ("at", "took s", "what"))
    for since, until, text in soak.room.happened:
        done.add(f"{since / 60:.1f}", f"{until - since:.1f}", text)
    loads = [s.load for s in soak.watch.samples]
    lines = [f"- {'held' if good else 'DID NOT HOLD'}: {text}" for text, good in checks]
    setting = [
        f"- {datetime.now(UTC).date().isoformat()}, revision {revision()}",
        f"- {soak.seconds / 60:.0f} minutes, {rate:,} events a second",
        f"- the store's disk: {soak.disk.words}",
        *facts()[:-1],
        f"- load of the machine meanwhile: median {statistics.median(loads):.1f}, "
        f"most {max(loads):.1f} (other work ran beside it)",
    ]
    tables = (time_table(soak), exact, done)
    parts = ["# Soak", "Written by `make soak`; do not edit.", "\n".join(setting)]
    parts += ["\n".join(lines), *(table.markdown().rstrip() for table in tables)]
    return "\n\n".join(parts) + "\n", all(good for _, good in checks)
