"""JSON logs in which a share of the messages carries a secret, for the benches of collect."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import benign
import corpus

SHARES = (0.0, 0.01, 0.2)
SEED = 3


def texts(number: int, share: float, secrets: Sequence[str], seed: int = SEED) -> Iterator[str]:
    """Benign look-alikes, every one new, a share of them replaced by secrets."""
    rng = random.Random(seed)
    for _, text in benign.texts(number, seed):
        yield rng.choice(secrets) if rng.random() < share else text


def ordinary(target: Path, events: int, share: float, secrets: Sequence[str]) -> None:
    """Decision records as agents make them; a share of them has a message, a secret in it.

    The corpus has tokens in some paths; here they are other names, so that the share is the share.
    """
    rng = random.Random(SEED)
    with target.open("w") as file:
        for chunk in corpus.records(events):
            for record in chunk:
                if "/oct-" in record.get("path", ""):
                    record["path"] = record["path"].replace("/oct-", "/module_")
                if rng.random() < share:
                    record["message"] = rng.choice(secrets)
            file.writelines(f"{corpus.to_json(record)}\n" for record in chunk)


def look_alikes(target: Path, events: int, share: float, secrets: Sequence[str]) -> None:
    """Records of one agent, each with a message that looks like it held a secret."""
    with target.open("w") as file:
        for n, text in enumerate(texts(events, share, secrets)):
            record = {
                "ts": f"2026-07-28T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z",
                "sandbox": "agent-demo", "syscall": "open", "resource": "filesystem",
                "path": f"/workspace/src/{n % 9973}.py", "decision": "allow", "message": text,
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")


FORMS = {"ordinary": ordinary, "look-alikes": look_alikes}
