"""A collector on a socket, to be killed: its main() in a process of its own.

argv: folder, options {step, nth} as JSON
"""

import json
import signal
import sys
import threading
from pathlib import Path

import collector.decoders
from audit.keys import load_or_create
from audit_events import plugins
from collector.seal import SealLimits
from collector.service import Collector, Plan
from collector.sources.socket import source
from collector.store import open_or_create
from policies.redact import default_redactor
from tests.collector.victim import killer


def main() -> int:
    """Serve until SIGTERM or the chosen step."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    store = open_or_create(folder / "store")
    key = load_or_create(folder / "keys", store.id)
    settings = source.settings(kind="socket", path=str(folder / "run" / "in.sock"))
    plan = Plan(
        store=store,
        watermark=folder / "keys" / "keys" / f"{store.id}.seq",
        sources=[
            (
                source.make("in", settings, key.secret),
                plugins.load(collector.decoders, "decoder", "native"),
            )
        ],
        redactor=default_redactor(key),
        host="test-host",
        version="0",
        say=lambda text: print(text, file=sys.stderr, flush=True),
        on_step=killer(options.get("step"), options.get("nth", 1)),
        limits=SealLimits(rows=2_000, bytes=1 << 20, age_s=0.5),
    )
    Collector(plan).run(stop, once=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
