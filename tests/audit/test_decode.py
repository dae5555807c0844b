"""`audit decode`, and which decoder is chosen for a log."""

import gzip
import json
from pathlib import Path

import pytest

from audit import decoders
from audit.decoding_explained import explanation
from audit.main import run as run_command
from policies.redact import default_redactor
from policies.redact.engine import Redactor
from policies.redact.fingerprint import KEY_BYTES, FingerprintKey

CORPUS = Path(__file__).parents[1] / "corpus"
NAMES = [name for name in decoders.known() if (CORPUS / name.replace("-", "_")).is_dir()]


def logs(name: str) -> list[bytes]:
    """Every file of a decoder's corpus, its samples one by one and as one log."""
    found = []
    for path in sorted((CORPUS / name.replace("-", "_")).iterdir()):
        if path.name.endswith("samples.jsonl"):
            raws = [json.loads(line)["raw"].encode() for line in path.read_text().splitlines()]
            found += [b"\n".join(raws), *(raw for raw in raws if len(raw) > 30)]
        elif not path.name.endswith(".expect.jsonl"):
            found.append(path.read_bytes())
    return found


def run(*words: str) -> int:
    """The command's exit code."""
    return run_command(["audit", "decode", *words])


@pytest.mark.parametrize("name", NAMES)
def test_each_log_finds_its_own_decoder(name: str) -> None:
    """The first lines decide; what nobody recognises is native's, and no more than a few are."""
    chosen = [decoders.detect([log[: decoders.SAMPLE_BYTES]]).name for log in logs(name)]
    assert set(chosen) <= {name, decoders.DEFAULT}
    assert chosen[0] == name
    assert chosen.count(name) >= 0.9 * len(chosen)


def test_a_native_log_that_quotes_other_logs_stays_native() -> None:
    """Paths and messages are the agent's: none of them chooses the decoder."""
    line = {
        "ts": "2026-07-28T09:03:12Z", "decision": "deny", "syscall": "open",
        "path": "/x audit(1795962376.1:7): santad: action=EXEC|decision=ALLOW",
        "message": 'Sandbox: a(1) deny(1) signal "eventMessage" "audit_token" "event_type"',
    }  # fmt: skip
    log = (json.dumps(line) + "\n").encode() * 3
    assert decoders.detect([log]).name == "native"


def test_a_packed_log_is_looked_into(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A rotated .gz is told by what it holds, and decoded."""
    capture = (CORPUS / "seatbelt" / "macos-14.2-capture.ndjson").read_bytes()
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(capture))
    assert decoders.detect([packed.read_bytes()]).name == "seatbelt"
    assert run(str(packed)) == 0
    said = capfd.readouterr()
    assert "read as seatbelt" in said.err
    assert "filtered: 1 banner, 1 blank, 1 trailer" in said.err
    assert len(said.out.splitlines()) == 23


def test_rejects_are_named_with_their_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Reason and byte of each line that cannot be read, and the sum of all."""
    log = tmp_path / "a.jsonl"
    log.write_text('{"ts":"2026-07-28T09:03:12Z","decision":"deny"}\n[1]\n{"ts":"soon"}\n')
    assert run(str(log), "--decoder", "native") == 0
    said = capfd.readouterr().err
    assert "rejected at byte 48: not-an-object" in said
    assert "decoded 3 records: 1 events + 2 rejected + 0 filtered" in said


@pytest.fixture(scope="module")
def masker() -> Redactor:
    """A redactor with a key of its own."""
    return default_redactor(FingerprintKey(bytes(range(KEY_BYTES))))


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_explained(name: str, masker: Redactor) -> None:
    """Decoder, grammar and result of every record we know, without a raw control character."""
    plugin = decoders.known()[name]
    for log in logs(name):
        lines = list(explanation(plugin, log, 0, masker, chosen=False))
        assert lines[0] == f"decoder    {name}, as asked for"
        assert lines[1].startswith("record     at byte 0, ")
        assert any(line.startswith("grammar    ") for line in lines)
        assert any(line.startswith("result     ") for line in lines)
        assert not any(sign < " " for line in lines for sign in line)


def test_an_explanation_masks_and_warns(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A secret in a path is masked; a flag comes with its meaning."""
    line = "Sandbox: sh(7) deny(1) file-read-data /tmp/ghp_" + "a1B2" * 9
    (tmp_path / "log").write_text(line + "\n")
    assert run(str(tmp_path / "log"), "--explain") == 0
    said = capfd.readouterr().out
    assert "a1B2a1B2" not in said
    assert "[REDACTED:" in said
    assert "flag       no-time: " in said
