"""Redaction: the stage alone and in `collect`, beside others on the same strings; by size; false
positives on a million benign texts by kind.

    python bench/redaction.py [--texts 1000000] [--others DIR/bin/python]

`--others` names a Python that has `kingfisher-secret-scanner` and `detect-secrets` (`make bench`
installs them beside ours); where one is missing, its line says so.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time

import benign
import corpus
import pyarrow as pa
import secret_logs
from measure import AUDIT, Table, facts, run

sys.path.insert(0, str(Path(__file__).parents[1]))

from audit_events.rows import batch_of, rows_to_batch
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.rules import ALL_RULES

SECRETS = [text for rule in ALL_RULES for text in rule.hits if "\n" not in text]
SHARES = secret_logs.SHARES
BATCH_ROWS = 20_000
# `re` and detect-secrets take minutes for what the stage does in a second.
SLOW_TEXTS = 2_000
SEEDS = (
    "password=", "mysql -p ", "eyJ", "://a:", "-----BEGIN RSA PRIVATE KEY-----\n", "%3D",
    '"token": "', "Cookie: a=b; ", "echo x | ", "curl -u a", "a" * 50 + "=\n", "-p -p ",
)  # fmt: skip
KINGFISHER = """
import json, sys, time, kingfisher_sdk as k
texts = json.load(open(sys.argv[1])); data = "\\n".join(texts).encode()
scanner = k.Scanner()
scanner.scan(data[:1000])
start = time.process_time(); found = scanner.scan(data)
print(time.process_time() - start, sum(1 for finding in found if finding.visible))
"""
KINGFISHER_ROWS = """
import json, sys, time, kingfisher_sdk as k
texts = json.load(open(sys.argv[1]))
scanner = k.Scanner()
scanner.scan(texts[0])
start = time.process_time()
found = sum(any(finding.visible for finding in scanner.scan(text)) for text in texts)
print(time.process_time() - start, found)
"""
DETECT = """
import json, sys, time
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import default_settings
texts = json.load(open(sys.argv[1]))
with default_settings():
    list(scan_line(texts[0]))
    start = time.process_time()
    found = sum(any(True for _ in scan_line(text)) for text in texts)
    print(time.process_time() - start, found)
"""


def mixed(number: int, share: float, seed: int = secret_logs.SEED) -> list[str]:
    """Benign texts, a share of them with a secret of any kind."""
    return list(secret_logs.texts(number, share, SECRETS, seed))


def stage(gate: Redactor, texts: list[str]) -> tuple[float, int]:
    """Processor seconds for all batches, and how many texts were masked."""
    state, masked, spent = gate.initial_state(), 0, 0.0
    for first in range(0, len(texts), BATCH_ROWS):
        part = texts[first : first + BATCH_ROWS]
        rows = len(part)
        columns = {
            "message": pa.array(part, pa.string()),
            "path": pa.array([f"/workspace/src/{n % 997}.py" for n in range(rows)], pa.string()),
            "sandbox": pa.array(["agent-demo"] * rows, pa.string()),
            "redactions": pa.array([0] * rows, pa.int32()),
        }
        batch = batch_of(columns, rows)
        start = process_time()
        out, state = gate.redact(batch, state)
        spent += process_time() - start
        masked += sum(1 for n in out.column("redactions").to_pylist() if n)
    return spent, masked


def ordinary(gate: Redactor, share: float, number: int) -> float:
    """Processor seconds for events as agents make them, a share of them with a secret's message."""
    rng = random.Random(1)
    spent, state = 0.0, gate.initial_state()
    rows: list[dict[str, object]] = []
    for chunk in corpus.records(number):
        rows.extend(
                {
                    "ts": 0, "source": "s", "format": "native", "host": "h", "correlation_id": "r",
                    "sandbox": record["sandbox"], "syscall": record["syscall"],
                    "resource": record["resource"], "access": record.get("access"),
                    "decision": record["decision"], "policy_rule": record["policy_rule"],
                    "path": record.get("path"), "dst": record.get("dst"),
                    "message": rng.choice(SECRETS) if rng.random() < share else None,
                }
                for record in chunk
            )  # fmt: skip
        while len(rows) >= BATCH_ROWS:
            batch = rows_to_batch(rows[:BATCH_ROWS])
            del rows[:BATCH_ROWS]
            start = process_time()
            _, state = gate.redact(batch, state)
            spent += process_time() - start
    return spent


def alone(gate: Redactor, number: int) -> Table:
    """The stage by the share of secrets."""
    note = (
        "One core, all columns of a batch of 20,000 events. Ordinary: decision records, whose texts"
        " come again and are then answered from memory. The others: every text a new one and a"
        " look-alike."
    )
    table = Table(
        "Redaction, the stage alone", note,
        ("secrets", "µs an event", "events/s", "masked"),
    )  # fmt: skip
    ordinary(gate, 0.2, BATCH_ROWS)
    for share in SHARES:
        spent = ordinary(gate, share, number)
        table.add(
            f"{share:.0%}, ordinary", f"{spent / number * 1e6:.2f}", f"{number / spent:,.0f}", ""
        )
    for share in SHARES:
        spent, masked = stage(gate, mixed(number, share))
        table.add(
            f"{share:.0%}", f"{spent / number * 1e6:.2f}", f"{number / spent:,.0f}", f"{masked:,}"
        )
    return table


def inside(number: int) -> Table:
    """`collect --once` of logs with secrets in their messages, on all cores."""
    table = Table(
        "Redaction inside collect",
        f"{number:,} JSON events, end to end, start included (a second of processor time). The "
        "second rate is by processor time, which a loaded machine changes little.",
        ("messages", "secrets", "events/s", "events/s of cpu", "wall s", "cpu s"),
    )
    for name, write in secret_logs.FORMS.items():
        for share in secret_logs.SHARES:
            with tempfile.TemporaryDirectory() as folder:
                log = Path(folder, "in.jsonl")
                write(log, number, share, SECRETS)
                cost = run(
                    [AUDIT, "--store", f"{folder}/store", "collect", str(log), "--once", "-q"],
                    {"XDG_CONFIG_HOME": f"{folder}/config"},
                )
            table.add(
                name, f"{share:.0%}", f"{number / cost.wall_s:,.0f}",
                f"{number / cost.cpu_s:,.0f}", f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}",
            )  # fmt: skip
    return table


def others(gate: Redactor, number: int, python: str) -> Table:
    """The same strings through others in the same run; most cannot mask, they only find."""
    table = Table(
        "Redaction beside others",
        "1 % secrets; processor time on one core; slow ones on the first texts only. `x` is the"
        " time beside ours, `touched` the share of texts they find something in.",
        ("engine", "texts", "µs a text", "x", "touched"),
    )  # fmt: skip
    texts = mixed(number, 0.01)
    few = texts[:SLOW_TEXTS]
    spent, masked = stage(gate, texts)
    ours = spent / number * 1e6
    table.add(
        "this stage (finds, masks)", f"{number:,}", f"{ours:.2f}", "1.0", f"{masked / number:.2%}"
    )
    patterns = [rule.confirm() for rule in ALL_RULES]
    start = process_time()
    found = sum(1 for text in few if sum(1 for pattern in patterns if pattern.search(text)))
    each = (process_time() - start) / len(few) * 1e6
    table.add("Python re, our rules one by one (finds, unchecked)", f"{len(few):,}", f"{each:,.0f}",
              f"{each / ours:,.1f}", f"{found / len(few):.2%}")  # fmt: skip
    for name, code, sample in (
        ("kingfisher, all texts as one buffer (finds)", KINGFISHER, texts),
        ("kingfisher, text by text (finds)", KINGFISHER_ROWS, texts[: 5 * SLOW_TEXTS]),
        ("detect-secrets, its defaults (finds)", DETECT, few),
    ):
        table.add(name, f"{len(sample):,}", *_other(python, code, sample, ours))
    return table


def _other(python: str, code: str, texts: list[str], ours: float) -> tuple[str, str, str]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(texts, file)
        file.flush()
        ran = subprocess.run(
            [python, "-c", code, file.name], capture_output=True, text=True, check=False
        )
    if ran.returncode:
        return f"skipped: {(ran.stderr.strip().splitlines() or ['failed'])[-1][:80]}", "", ""
    spent, found = ran.stdout.split()[-2:]
    each = float(spent) / len(texts) * 1e6
    return f"{each:,.2f}", f"{each / ours:,.1f}", f"{int(found) / len(texts):.2%}"


def by_size(gate: Redactor) -> Table:
    """Texts built against the patterns: time must grow with size only."""
    sizes = (64 << 10, 256 << 10, 1 << 20)
    table = Table(
        "Redaction of texts built against it", "Seconds for one field of this size.",
        ("repeated", *(f"{size >> 10} KiB" for size in sizes)),
    )  # fmt: skip
    for seed in SEEDS:
        spent = []
        for size in sizes:
            text = (seed * (size // len(seed) + 1))[:size]
            start = process_time()
            gate.redact_text(text)
            spent.append(f"{process_time() - start:.3f}")
        table.add(re.sub(r"\s", " ", seed[:24]).strip(), *spent)
    return table


def false_positives(gate: Redactor, number: int) -> Table:
    """Benign texts that were touched, by kind."""
    touched: Counter[str] = Counter()
    pairs = list(benign.texts(number))
    for first in range(0, number, BATCH_ROWS):
        part = pairs[first : first + BATCH_ROWS]
        rows = len(part)
        column = pa.array([text for _, text in part], pa.string())
        batch = batch_of({"message": column, "redactions": pa.array([0] * rows, pa.int32())}, rows)
        out = gate.redact(batch, gate.initial_state())[0].column("message").to_pylist()
        touched.update(k for (k, text), new in zip(part, out, strict=True) if text != new)
    each = number // len(benign.KINDS)
    table = Table(
        "False positives",
        f"{number:,} benign texts, {each:,} of each kind.",
        ("kind", "touched", "rate"),
    )
    for kind, n in touched.most_common():
        table.add(kind, f"{n:,}", f"{n / each:.4%}")
    table.add("all", f"{touched.total():,}", f"{touched.total() / number:.4%}")
    return table


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--others", default=sys.executable)
    args = parser.parse_args()
    gate = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))
    print("\n".join(facts()), "\n")
    for table in (
        alone(gate, args.texts // 5), others(gate, args.texts // 10, args.others), by_size(gate),
        inside(args.texts * 3 // 10), false_positives(gate, args.texts),
    ):  # fmt: skip
        print(table.markdown())


if __name__ == "__main__":
    main()
