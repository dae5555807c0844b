"""A collector on the unified log's stand-in, to be killed: its main() in a process of its own.

argv: folder (with bin/log), options {step, nth} as JSON
"""

import json
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

import collector.decoders
from audit.keys import load_or_create
from audit_events import plugins
from collector.seal import SealLimits
from collector.service import Collector, Plan
from collector.sources.unified_log import UnifiedLogSource
from collector.sources.unified_log_reading import LogOptions
from collector.store import open_or_create
from policies.redact import default_redactor
from tests.collector.fake_log import BOOT
from tests.collector.victim import killer


def main() -> int:
    """Collect until SIGTERM or the chosen step."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    store = open_or_create(folder / "store")
    key = load_or_create(folder / "keys", store.id)
    log = LogOptions(
        command=str(folder / "bin" / "log"), backfill=timedelta(hours=24), any_owner=True,
        back_off_first_s=0.05, back_off_most_s=0.3,
    )  # fmt: skip
    source = UnifiedLogSource("oslog", log, key=key.secret, session=lambda: BOOT)
    plan = Plan(
        store=store,
        watermark=folder / "keys" / "keys" / f"{store.id}.seq",
        sources=[(source, plugins.load(collector.decoders, "decoder", "seatbelt"))],
        redactor=default_redactor(key),
        host="test-host",
        version="0",
        say=lambda text: print(text, file=sys.stderr, flush=True),
        on_step=killer(options.get("step"), options.get("nth", 1)),
        limits=SealLimits(rows=500, bytes=1 << 20, age_s=0.4),
    )
    Collector(plan).run(stop, once=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
