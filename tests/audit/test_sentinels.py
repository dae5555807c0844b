"""No secret reaches the disk or a screen: each kind, in each field, by each way in, through it all.

A secret of every rule goes through JSON, logfmt, blocks, the system's log, lines that are damaged
and lines that are too long. The collector is killed and started again; rows are sealed, compacted,
asked for in every form and exported. Nothing of it may be found in any file or output, in clear, in
base64, percent or hex, nor in what the compressed files hold.
"""

import base64
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyperscan
import pytest

from collector.spool import decode_batch
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import MARKER
from policies.redact.rules import ALL_RULES
from tests import forked
from tests.audit.terminal import ROOT, environment

# What may be left of a secret is less than this.
PROBE_CHARS = 10
_QUOTED = re.compile(r"[\s=\"]")
# A seatbelt report as `log stream --style ndjson` has it.
REPORT = {
    "messageType": "Error", "eventType": "logEvent", "processID": 0, "machTimestamp": 1,
    "processImagePath": "/kernel", "timestamp": "2026-07-28 10:08:36.525077+0000",
    "senderImagePath": "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
}  # fmt: skip


GATE = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))


def secrets() -> tuple[list[str], list[str]]:
    """The texts that hold a secret, one a rule at least, and runs of the secrets in them."""
    texts = list(dict.fromkeys(text for rule in ALL_RULES for text in rule.hits))
    # Samples share letters; a run that is a key in one and a name in another tells nothing.
    rest = "\0".join(MARKER.sub("\0", GATE.redact_text(text)[0]) for text in texts)
    found = {finding.secret for text in texts for finding in GATE.findings(text)}
    runs = {
        secret[max(at, 0) :][:PROBE_CHARS]
        for secret in found
        for at in (0, len(secret) // 2 - PROBE_CHARS // 2, len(secret) - PROBE_CHARS)
    }
    whole = (run for run in runs if len(run) == PROBE_CHARS and run.isascii())
    return texts, sorted(run for run in whole if run not in rest and len(set(run)) > 3)


TEXTS, RUNS = secrets()


def native(number: int, text: str) -> dict[str, object]:
    """An event with the text in every field that a producer can fill."""
    return {
        "ts": f"2026-07-28T09:{number // 60 % 60:02}:{number % 60:02}Z", "sandbox": "agent-demo",
        "syscall": "open", "resource": "filesystem", "decision": "deny", "path": f"/w/{text}",
        "path_to": f"/w/{text}.lock", "command": ["sh", "-c", text], "target": text,
        "message": text, "error": text[:200], "process": text[:200], "tool": text[:200],
        "policy_rule": "filesystem.deny[1]", "note": text, "nested": {"deep": [1, {"x": text}]},
    }  # fmt: skip


def logfmt(record: dict[str, object]) -> str:
    """The same on one line of key=value."""
    flat = {k: v if isinstance(v, str) else json.dumps(v) for k, v in record.items()}
    return " ".join(
        f"{key}={json.dumps(value) if _QUOTED.search(value) else value}"
        for key, value in flat.items()
    )


def report(text: str) -> str:
    """A kernel's report about a path; what stands on a second line is another field."""
    return f"Sandbox: sh(7) deny(1) file-read-data /w/{one_line(text)}"


def one_line(text: str) -> str:
    """The text without its lines' ends; where one of them is what gives the secret away (what a
    command printed stands below it), written out, as tools do."""
    joined = text.replace("\n", " ")
    return joined if still_secret(text, joined) else text.replace("\n", "\\n")


def unbroken(text: str) -> str:
    """The text with blanks between its arguments, if that still is a secret's surroundings."""
    joined = text.replace("\f", " ")
    return joined if still_secret(text, joined) else text


def still_secret(text: str, joined: str) -> bool:
    """Whether each secret of the text is one in the other form too."""
    left = GATE.redact_text(joined)[0]
    return not any(finding.secret in left for finding in GATE.findings(text))


def write_logs(folder: Path) -> None:
    """A log for each way in."""
    folder.mkdir()
    records = [native(number, text) for number, text in enumerate(TEXTS)]
    lines = {
        "json": [json.dumps(record) for record in records],
        "logfmt": [
            logfmt(native(n, unbroken(text))).replace("\n", "\\n")
            for n, text in enumerate(TEXTS)
        ],
        "damaged": [json.dumps(record)[: -7 - n % 40] for n, record in enumerate(records)]
        + ["not a record: " + one_line(text) for text in TEXTS],
        "long": [json.dumps(record | {"pad": "x" * (1 << 20)}) for record in records[::60]],
        "seatbelt": [json.dumps(REPORT | {"eventMessage": report(text)}) for text in TEXTS],
    }  # fmt: skip
    for name, body in lines.items():
        (folder / f"{name}.log").write_text("\n".join(body) + "\n")


class Trail:
    """The real commands over one store; whatever they print is kept."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = environment(None) | {
            "XDG_CONFIG_HOME": str(root / "config"), "AUDIT_STORE": str(root / "store"),
        }  # fmt: skip
        self.output = root / "output"
        self.output.mkdir()
        self._number = 0

    def start(self, *words: str) -> "forked.Forked | subprocess.Popen[bytes]":
        """A command, its output in files of its own."""
        self._number += 1
        out, err = (self.output / f"{self._number}.{kind}" for kind in ("out", "err"))
        with out.open("wb") as stdout, err.open("wb") as stderr:
            return forked.start("audit.main", *words, env=self.environ, stdout=stdout,
                                stderr=stderr)  # fmt: skip

    def run(self, *words: str) -> int:
        """A command to its end."""
        return self.start(*words).wait(timeout=120)

    def stored(self) -> int:
        """Events so far."""
        self.run("query", "--count", "--kind", "decision", "--kind", "notice")
        text = (self.output / f"{self._number}.out").read_text().strip()
        return int(text or 0)


@pytest.fixture(scope="module")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Trail:
    """Collected, killed, collected on, sealed, compacted, asked for and exported."""
    root = tmp_path_factory.mktemp("sentinels")
    write_logs(root / "log")
    trail = Trail(root)
    sources = [f"--source={p.stem}=file:{p}" for p in sorted((root / "log").iterdir())]
    running = trail.start("collect", *sources)
    deadline = time.monotonic() + 60
    while trail.stored() == 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    held = b"".join(p.read_bytes() for p in (root / "store").glob("spool.db*"))
    (root / "spool-after-kill").write_bytes(held)
    assert trail.run("collect", "--once", *sources) == 0
    # Two more small seals, so that there is something to compact.
    for name in ("json", "seatbelt"):
        (root / "log" / f"{name}2.log").write_text((root / "log" / f"{name}.log").read_text())
        assert trail.run("collect", "--once", f"{root}/log/{name}2.log") == 0
    through_the_socket(trail)
    compact(root)
    for form in ("json", "ndjson", "logfmt", "csv", "table"):
        trail.run("query", "-n", "0", "--format", form, "--kind", "decision", "--kind", "notice")
        trail.run("query", "-n", "50", "--kind", "notice", "--format", form)
    for form in ("json", "csv", "parquet"):
        assert trail.run("export", "--format", form, "-o", f"{trail.output}/export.{form}") == 0
    for words in (("tail",), ("status",), ("gaps",), (), ("explain", "1"), ("secrets", "list")):
        trail.run(*words)
    trail.run("query", "--path", f"/w/{TEXTS[0]}")
    trail.run("decode", "--decoder", "native", f"{root}/log/damaged.log")
    return trail


def through_the_socket(trail: Trail) -> None:
    """The same records and the same damage by way of a collector's socket."""
    place = trail.root / "run"
    place.mkdir(mode=0o700)
    serving = trail.start("collect", "--source", f"sock=socket:{place}/in.sock")
    writer = ROOT / "examples" / "socket_writer.py"
    for name in ("json", "damaged"):
        log = trail.root / "log" / f"{name}.log"
        words = [sys.executable, str(writer), f"{place}/in.sock", name, str(log)]
        assert subprocess.run(words, timeout=120, check=False).returncode == 0
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(timeout=60) == 0


def compact(root: Path) -> None:
    """Join the small files, as the collector does when there are many."""
    from datetime import UTC, datetime

    from collector.recovery import open_for_writing
    from collector.store import open_or_create
    from collector.upkeep import Upkeep

    store = open_or_create(root / "store")
    opened = open_for_writing(store, root / "config" / "sandtrail" / "keys" / f"{store.id}.seq")
    Upkeep(None, print, above=1).run(opened.sealer, datetime.now(UTC) + timedelta(hours=1))
    opened.sealer.close()
    opened.spool.close()


def forms(run: str) -> set[bytes]:
    """A run of a secret in clear, in hex, in percent, in base64 at each alignment."""
    raw = run.encode()
    coded = {base64.b64encode(b"\0" * n + raw)[-(-n * 8 // 6) :] for n in range(3)}
    # The last letters depend on what follows.
    return {
        raw, raw.hex().encode(), raw.hex().upper().encode(),
        "".join(f"%{byte:02X}" for byte in raw).encode(), json.dumps(run)[1:-1].encode(),
        *(form.rstrip(b"=")[:-2] for form in coded),
    }  # fmt: skip


def names_a_kind(form: bytes) -> bool:
    """A mask says what it masked: `configcat-` stands in `[REDACTED:configcat-key:…]`."""
    return any(form.decode("utf-8", "replace") in rule.kind for rule in ALL_RULES)


def counts_up(form: bytes) -> bool:
    """`0123456789`: the indices of a Parquet dictionary page count up just so."""
    return all(after == before + 1 for before, after in itertools.pairwise(form))


def found_in(places: dict[str, bytes]) -> list[str]:
    """The places that hold a run of a secret in any form."""
    probes = sorted(
        form
        for form in {form for run in RUNS for form in forms(run)}
        if len(form) >= PROBE_CHARS and not counts_up(form) and not names_a_kind(form)
    )
    hits: list[int] = []

    def collect(into: list[int], tag: int, _start: int, _end: int) -> object:
        into.append(tag)
        return pyperscan.Scan.Continue

    patterns = [
        pyperscan.Pattern(re.escape(probe), tag=number) for number, probe in enumerate(probes)
    ]
    scanner = pyperscan.BlockDatabase(*patterns).build(hits, collect)
    leaks = []
    for place, data in places.items():
        hits.clear()
        scanner.scan(data)
        leaks += [f"{place}: {probes[tag].decode()}" for tag in sorted(set(hits))]
    return leaks


def test_the_search_finds_what_it_looks_for(trail: Trail) -> None:
    """A test of the test: in the logs that went in, every run is found."""
    raw = b"\0".join(path.read_bytes() for path in (trail.root / "log").iterdir())
    found = {leak.partition(": ")[2] for leak in found_in({"log": raw})}
    missing = [run for run in RUNS if run not in found and json.dumps(run)[1:-1] not in found]
    assert len(RUNS) > 300
    assert len(missing) < len(RUNS) // 20


def test_everything_went_through(trail: Trail) -> None:
    """Stored, rejected, sealed and compacted: the test is about something."""
    assert trail.stored() > 6 * len(TEXTS)
    store = trail.root / "store"
    assert any(path.name.startswith("day-") for path in store.glob("events/*/*.parquet"))
    assert (trail.output / "export.parquet").stat().st_size > 10_000


def test_no_file_of_the_store_holds_a_secret(trail: Trail) -> None:
    """Spool, -wal, log, locks, what was there right after the kill; and the key folder."""
    places = {
        str(path.relative_to(trail.root)): path.read_bytes()
        for folder in ("store", "config")
        for path in (trail.root / folder).rglob("*")
        if path.is_file()
    }
    places["after the kill"] = (trail.root / "spool-after-kill").read_bytes()
    assert found_in(places) == []


def test_nothing_compressed_holds_a_secret(trail: Trail) -> None:
    """The same for what Parquet files and blobs hold, column by column."""
    import sqlite3

    store = trail.root / "store"
    tables = {p.name: pq.read_table(p) for p in store.glob("events/*/*.parquet")}
    with sqlite3.connect(store / "spool.db") as db:
        for first, data in db.execute("SELECT first_seq, data FROM batches"):
            tables[f"batch {first}"] = pa.Table.from_batches([decode_batch(data)])
    assert tables
    places = {
        f"{name} {column}": "\n".join(
            filter(None, tables[name][column].cast(pa.string()).to_pylist())
        ).encode("utf-8", "surrogatepass")
        for name in tables
        for column in tables[name].column_names
        if pa.types.is_string(tables[name].schema.field(column).type)
        or pa.types.is_dictionary(tables[name].schema.field(column).type)
    }
    assert found_in(places) == []


def test_no_output_holds_a_secret(trail: Trail) -> None:
    """Screens, errors, exports, manifests; of one that is typed as a filter, too."""
    places = {path.name: path.read_bytes() for path in trail.output.iterdir()}
    assert found_in(places) == []
