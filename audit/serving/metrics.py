"""What the service counts of itself, and `/metrics`: the text that Prometheus reads."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from audit_events.layout import StorePaths
from query import views

# Seconds; a page's own queries are to be answered within 0.4.
BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0, 2.5, 5.0, 10.0, 30.0)
Ending = Literal["answered", "refused", "interrupted"]


class Metrics:
    """Counters of one service; its event loop is the only one that writes."""

    def __init__(self) -> None:
        self.running = 0
        self.waiting = 0
        self.streams = 0
        self.query_s = 0.0
        self._queries: Counter[Ending] = Counter()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._took: dict[str, list[int]] = {}
        self._took_s: Counter[str] = Counter()

    def query(self, ending: Ending) -> None:
        """A query ended."""
        self._queries[ending] += 1

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is the pattern, never the path that was asked for."""
        self._requests[route, method, status] += 1
        counts = self._took.setdefault(route, [0] * (len(BUCKETS_S) + 1))
        place = next((n for n, most in enumerate(BUCKETS_S) if seconds <= most), len(BUCKETS_S))
        counts[place] += 1
        self._took_s[route] += seconds  # type: ignore[assignment]

    def lines(self) -> Iterator[str]:
        """The exposition text of everything counted here."""
        yield from _family("http_requests_total", "counter", "Requests by route and status.")
        for (route, method, status), n in sorted(self._requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            yield f"sandtrail_http_requests_total{{{labels}}} {n}"
        yield from _family("http_request_seconds", "histogram", "Time to the end of the answer.")
        for route, counts in sorted(self._took.items()):
            yield from self._histogram(route, counts)
        yield from _family("queries_total", "counter", "Queries by how they ended.")
        for ending in ("answered", "refused", "interrupted"):
            yield f'sandtrail_queries_total{{ending="{ending}"}} {self._queries[ending]}'
        yield from gauge("queries_running", "Queries at work.", self.running)
        yield from gauge("queries_waiting", "Queries that wait for a place.", self.waiting)
        yield from _family("query_seconds_total", "counter", "Time spent in queries.")
        yield f"sandtrail_query_seconds_total {self.query_s:.6f}"
        yield from gauge("streams", "Live streams that are open.", self.streams)

    def _histogram(self, route: str, counts: list[int]) -> Iterator[str]:
        name, total = "sandtrail_http_request_seconds", 0
        for most, n in zip((*BUCKETS_S, "+Inf"), counts, strict=True):
            total += n
            yield f'{name}_bucket{{route="{route}",le="{most}"}} {total}'
        yield f'{name}_sum{{route="{route}"}} {self._took_s[route]:.6f}'
        yield f'{name}_count{{route="{route}"}} {total}'


def store_lines(store: StorePaths, now: int) -> Iterator[str]:
    """What is in the store, and whether anybody collects; StorageError as `views`."""
    yield from gauge("store_last_seq", "The newest event's seq.", views.newest_seq(store))
    running = views.collector(store, now).state == "running"
    yield from gauge("collector_running", "1 while a collector keeps the store.", int(running))
    states = Counter(source.state for source in views.source_states(store))
    yield from _family("sources", "gauge", "Sources by state.")
    for state, n in sorted(states.items()):
        yield f'sandtrail_sources{{state="{_label(state)}"}} {n}'
    still = [gap for gap in views.gaps(store) if gap.until is None]
    yield from gauge("gaps_open", "Gaps in the record that have not ended.", len(still))


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def gauge(name: str, words: str, value: float) -> Iterator[str]:
    """One number of now."""
    yield from _family(name, "gauge", words)
    yield f"sandtrail_{name} {value}"


def _family(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP sandtrail_{name} {words}"
    yield f"# TYPE sandtrail_{name} {kind}"


def text(lines: Iterable[str]) -> str:
    """The body of an answer."""
    return "\n".join(lines) + "\n"
