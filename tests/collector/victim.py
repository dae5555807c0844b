"""A collector to be killed: its main() in a process of its own, with small limits so that seals and
compactions happen all the time. Kills itself with SIGKILL at the n-th time of a named step.

argv: store, key folder, pattern, options as JSON {step, nth, once, every_s, fsize,
rows, age_s, above, system}
"""

import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path

import collector.decoders
from audit.keys import load_or_create
from audit_events import plugins
from audit_events.errors import AuditError
from collector.seal import SealLimits
from collector.service import Collector, Plan
from collector.sources.file import FileSource
from collector.store import open_or_create
from collector.upkeep import Upkeep
from policies.redact import default_redactor


def killer(step: str | None, nth: int):
    """`on_step` that ends the process the hard way."""
    seen = 0

    def on_step(name: str) -> None:
        nonlocal seen
        if name == step:
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), signal.SIGKILL)

    return on_step


def small_disk(limit: int) -> None:
    """No file may grow beyond `limit` until SIGUSR1 says that there is room again."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    signal.signal(
        signal.SIGUSR1, lambda *_: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    )


def main() -> int:
    """Collect until SIGTERM or the chosen step."""
    root, keys, pattern = (Path(word) for word in sys.argv[1:4])
    options = json.loads(sys.argv[4])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if options.get("fsize"):
        small_disk(options["fsize"])
    store = open_or_create(root)
    key = load_or_create(keys, store.id)
    decoder = plugins.load(collector.decoders, "decoder", options.get("decoder", "native"))
    every = options.get("every_s", 0.3)
    sources = [(FileSource("openclaw", [str(pattern)], key=key.secret), decoder)]
    if options.get("system"):
        seatbelt = plugins.load(collector.decoders, "decoder", "seatbelt")
        sources.append((FileSource("unified-log", [options["system"]], key=key.secret), seatbelt))
    plan = Plan(
        store=store,
        watermark=keys / "keys" / f"{store.id}.seq",
        sources=sources,
        redactor=default_redactor(key),
        host="test-host",
        version="0",
        say=lambda text: print(text, file=sys.stderr, flush=True),
        on_step=killer(options.get("step"), options.get("nth", 1)),
        limits=SealLimits(
            rows=options.get("rows", 800), bytes=1 << 20, age_s=options.get("age_s", 0.25)
        ),
        upkeep=Upkeep(None, print, every_s=every, above=options.get("above", 3)),
    )
    try:
        Collector(plan).run(stop, once=bool(options.get("once")))
    except AuditError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return int(error.code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
