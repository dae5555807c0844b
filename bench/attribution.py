"""What attribution costs (1M events, 100,000 distinct paths, 50 + 50 rules), and validation."""

import random
import time
from collections.abc import Callable

import pyarrow as pa

from audit_events.rows import batch_of
from policies.attribute import Attributor
from policies.history import Applied, History
from policies.lint import lint
from policies.load import parse_policy

EVENTS, DISTINCT, BATCH = 1_000_000, 100_000, 20_000
HEAD = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"


def policy_text(rules: int = 50) -> bytes:
    """Rules as people write them: folders, names anywhere, endings, a few that need more."""
    allow = [f"/workspace/team{n}/src" for n in range(rules * 3 // 5)]
    allow += [f"/opt/tool{n}/**/bin/*" for n in range(rules // 5)]
    allow += [f"**/*.ext{n}" for n in range(rules - len(allow))]
    deny = [f"**/.secret{n}/**" for n in range(rules * 3 // 5)]
    deny += [f"**/Library/Store{n}/**" for n in range(rules // 5)]
    deny += [f"**/*.key{n}" for n in range(rules - len(deny))]
    lines = [HEAD, "  filesystem:\n    allow:\n"]
    lines += [f'      - path: "{path}"\n' for path in allow]
    lines += ["    deny:\n", *(f'      - path: "{path}"\n' for path in deny)]
    return "".join([*lines, "  network:\n    egress: deny-all\n"]).encode()


def batches() -> list[pa.RecordBatch]:
    """File events of one sandbox."""
    rng = random.Random(7)
    paths = [
        f"/workspace/team{rng.randrange(60)}/src/part{rng.randrange(90)}/.secret{rng.randrange(4000)}"
        f"/file{n}.ext{rng.randrange(900)}"
        for n in range(DISTINCT)
    ]
    found = []
    for start in range(0, EVENTS, BATCH):
        column = [paths[int(DISTINCT * rng.random() ** 2)] for _ in range(BATCH)]
        ts = pa.array(range(start, start + BATCH), pa.int64()).cast(pa.timestamp("us", "UTC"))
        same = {"sandbox": "s", "kind": "decision", "resource": "filesystem", "access": "read",
                "decision": "deny"}  # fmt: skip
        texts = {name: pa.array([value] * BATCH) for name, value in same.items()}
        found.append(batch_of({"ts": ts, "path": pa.array(column), **texts}, BATCH))
    return found


def cpu_s(attributor: Attributor, given: list[pa.RecordBatch]) -> float:
    """CPU seconds for all batches."""
    before = time.process_time()
    for batch in given:
        attributor.attribute(batch)
    return time.process_time() - before


def main() -> None:
    """Print the figures."""
    given = batches()
    policy = parse_policy(policy_text())
    history = History([Applied("s", -1, policy.digest)])
    elsewhere = History([Applied("t", -1, policy.digest)])
    known = {policy.digest: policy}
    for name, attributor in (
        ("50 + 50 rules", Attributor(known, history)),
        ("policy of another sandbox", Attributor(known, elsewhere)),
        ("no policy known", Attributor({}, History())),
    ):
        spent = cpu_s(attributor, given)
        print(f"{name:<28} {spent:6.2f} CPU-s   {spent / EVENTS * 1e6:.3f} µs/event")
    text = long_policy()
    best = min(ms_of(lambda: lint(parse_policy(text))) for _ in range(5))
    print(f"{'validate 2,000 lines':<28} {best:6.1f} ms")


def long_policy() -> bytes:
    """2,000 lines: allows of two lines each, a few hundred denies."""
    lines = [*HEAD.splitlines(), "  filesystem:", "    allow:"]
    for n in range(800):
        lines += [f'      - path: "/workspace/part{n}/src"', "        access: [read, write]"]
    lines.append("    deny:")
    lines += [f'      - path: "**/.secret{n}/**"' for n in range(1_998 - len(lines))]
    return "\n".join([*lines, "  network:", "    egress: deny-all", ""]).encode()


def ms_of(work: Callable[[], object]) -> float:
    """CPU milliseconds of a call."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1000


if __name__ == "__main__":
    main()
