"""`audit secrets`: where a leaked secret was seen, under every key, and what absence proves."""

import io
import json
import sys
from pathlib import Path

import pytest

from audit import keys
from audit.main import run
from policies.redact.fingerprint import fingerprint

# Made up for this test; the shapes are those of real ones.
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
BEARER = "k2Lm9Qx7Vb4Nc8TzQr5Wd"


class Place:
    """A store with keys of its own, and the command over it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.config = root / "config" / "sandtrail"
        self.patch = monkeypatch
        monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        monkeypatch.setenv("AUDIT_STORE", str(root / "store"))
        monkeypatch.setenv("TZ", "UTC")

    def collect(self, name: str, *paths: str, message: str | None = None) -> None:
        """One event a path, of a sandbox of this name."""
        records = [
            {"ts": f"2026-07-28T09:03:{number:02}Z", "sandbox": name, "syscall": "open",
             "resource": "filesystem", "path": path, "access": "read", "decision": "allow",
             "message": message}
            for number, path in enumerate(paths)
        ]  # fmt: skip
        log = self.root / f"{name}.jsonl"
        log.write_text("".join(json.dumps(record) + "\n" for record in records))
        assert run(["audit", "collect", str(log), "--once"]) == 0

    def find(self, text: str, *flags: str) -> int:
        """`audit secrets find -` with the text on stdin."""
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        self.patch.setattr(sys, "stdin", stdin)
        return run(["audit", "secrets", "find", "-", *flags])

    @property
    def id(self) -> str:
        """The store's name."""
        return json.loads(
            (self.root / "store" / "store.toml").read_text().split("=")[1].strip().replace("'", '"')
        )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A store with a token in three paths of one sandbox and in one of another."""
    place = Place(tmp_path, monkeypatch)
    place.collect("agent-demo", *(f"/w/{TOKEN}-{n}" for n in range(3)), "/w/harmless")
    place.collect("build-1", f"/tmp/{TOKEN}", message=f"Authorization: Bearer {BEARER}")
    return place


def test_a_secret_is_found_by_fingerprint(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """G16: how often, first and last, a line for each place; the secret itself is never shown."""
    capfd.readouterr()
    assert place.find(TOKEN + "\n") == 0
    out, err = capfd.readouterr()
    name = fingerprint(keys.load_or_create(place.config, place.id), "github-pat", TOKEN)
    lines = out.splitlines()
    assert lines[0] == f"1 secret read from stdin: github-pat, fingerprint {name}"
    assert lines[1] == "seen 4 times, first 2026-07-28T09:03:00+00, last 2026-07-28T09:03:02+00"
    assert lines[3].split() == ["SANDBOX", "RUN", "FIELD", "DECISION", "TIMES", "LAST", "SEQ"]
    assert [line.split()[0] for line in lines[4:6]] == ["agent-demo", "build-1"]
    assert lines[7] == "searched all 5 events (since 2026-07-28), 1 key; 0 gaps in that time"
    assert lines[8] == "never stored or sent in clear by us. Rotate it at its issuer"
    assert TOKEN not in out + err


def test_absence_proves_nothing_and_says_so(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    """A record names files, not what was in them."""
    capfd.readouterr()
    assert place.find(TOKEN[::-1].replace("_phg", "") + "Zz") == 0
    words = " ".join(capfd.readouterr().out.split())
    assert words.endswith(
        "not seen in 5 events (since 2026-07-28, 1 key, 0 gaps). This is no proof that it was not"
        " read: a record names files, not their contents"
    )


def test_a_secret_without_its_header_is_found_too(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bare, no rule knows it; it is tried under every kind that the store has masked."""
    capfd.readouterr()
    assert place.find(BEARER, "--json") == 0
    said = json.loads(capfd.readouterr().out)
    assert [(one["sandbox"], one["field"]) for one in said["seen"]] == [("build-1", "message")]


def test_a_password_cannot_be_found(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """It has no fingerprint: exit 2 and what to do instead."""
    assert place.find("hunter2") == 2
    err = capfd.readouterr().err
    assert "audit query --secret password" in err
    assert "hunter2" not in err


def test_a_new_key_keeps_the_old_one_for_finding(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    """Events before and after bear different names of one secret; find and filters know both."""
    assert run(["audit", "secrets", "rotate-key"]) == 0
    place.collect("later", f"/w/{TOKEN}")
    capfd.readouterr()
    assert place.find(TOKEN, "--json") == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["times"], said["keys"], said["missing"]) == (5, 2, [])
    assert run(["audit", "query", "--grep", TOKEN, "--count"]) == 0
    assert capfd.readouterr().out == "5\n"


def test_a_new_key_does_not_make_logs_strange(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    """Files are known by the store's first key: nothing is read twice."""
    assert run(["audit", "secrets", "rotate-key"]) == 0
    log = place.root / "agent-demo.jsonl"
    assert run(["audit", "collect", str(log), "--once"]) == 0
    capfd.readouterr()
    run(["audit", "query", "--sandbox", "agent-demo", "--count"])
    assert capfd.readouterr().out == "4\n"


def test_a_missing_key_is_no_silent_no(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """Each event names the key that masked it, so a lost one shows: the answer is partial."""
    keys.key_path(place.config, place.id).unlink()
    capfd.readouterr()
    assert place.find(TOKEN) == 8
    assert "masked under a key that is not here" in capfd.readouterr().out


def test_the_list_counts_masks_by_kind(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """What was masked, the most frequent first, under the usual filters."""
    capfd.readouterr()
    assert run(["audit", "secrets", "list", "--json"]) == 0
    said = {kind["kind"]: kind["masks"] for kind in json.loads(capfd.readouterr().out)}
    assert said == {"github-pat": 4, "authorization": 1}
    assert run(["audit", "secrets", "list", "--sandbox", "agent-demo"]) == 0
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == [
        "KIND",
        "github-pat",
    ]


def test_a_rotation_that_was_killed_is_done_again(tmp_path: Path) -> None:
    """Killed between keeping the old key and putting the new one in force: one old key, not two."""
    old = keys.load_or_create(tmp_path, "7kq2m")
    path = keys.key_path(tmp_path, "7kq2m")
    path.with_name("7kq2m.key.1").hardlink_to(path)
    assert keys.every_key(tmp_path, "7kq2m") == (old,)
    new = keys.rotate(tmp_path, "7kq2m")
    assert keys.every_key(tmp_path, "7kq2m") == (new, old)
    third = keys.rotate(tmp_path, "7kq2m")
    assert keys.every_key(tmp_path, "7kq2m") == (third, new, old)
    assert keys.first_key(tmp_path, "7kq2m") == old


def test_redact_explains_each_mask(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """The rule and why, on stderr, line by line; never the secret."""
    place.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"plain\nx {TOKEN}\n".encode())))
    capfd.readouterr()
    assert run(["audit", "redact", "--explain"]) == 0
    out, err = capfd.readouterr()
    assert err.startswith("line 2: github-pat: GitHub personal access token; 40 characters, fing")
    assert TOKEN not in out + err
