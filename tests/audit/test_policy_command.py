"""`audit policy`: what it prints, where, and with which exit code."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from audit.main import run
from audit_events.errors import Exit

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "agent-readonly.yaml"
CORPUS = ROOT / "tests" / "corpus" / "policies"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A copy that nobody else may write."""
    path = tmp_path / "p.yaml"
    path.write_bytes(EXAMPLE.read_bytes())
    path.chmod(0o600)
    return path


def said(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    code = run(["audit", "policy", *words])
    out, err = capfd.readouterr()
    return code, out, err


def test_a_valid_policy(policy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, exactly this; what the policy cannot hold back is a note, no warning."""
    code, out, err = said(capfd, "validate", "-f", str(policy), "--strict")
    assert (code, out) == (0, "policy valid (0 warnings)\n")
    assert all(": note: " in line for line in err.splitlines())


def test_an_invalid_policy_names_every_place(capfd: pytest.CaptureFixture[str]) -> None:
    """FILE:LINE:COL: error: …, on stderr; nothing on stdout; exit 3."""
    path = CORPUS / "bad" / "several.yaml"
    code, out, err = said(capfd, "validate", "-f", str(path))
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        f"{path}:14:5: error: unknown field 'spec.network.egres' (hint: did you mean 'egress'?)"
    )
    assert len(err.splitlines()) == 4


def test_json_has_the_same(policy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One object: verdict, digest, each problem with place, severity, code, rule and witness."""
    code, out, _ = said(capfd, "validate", "-f", str(CORPUS / "bad" / "v1.yaml"), "--json")
    record = json.loads(out)
    assert (code, record["valid"]) == (3, False)
    assert record["problems"][0]["line"] == 1
    policy.write_text(policy.read_text().replace("/workspace", "/workspace/.ssh"))
    code, out, _ = said(capfd, "validate", "-f", str(policy), "--format", "json")
    record = json.loads(out)
    assert (code, record["valid"], record["warnings"]) == (0, True, 1)
    [warning] = [p for p in record["problems"] if p["severity"] == "warning"]
    assert (warning["line"], warning["code"], warning["witness"]) == (
        8, "dead-allow", "/workspace/.ssh",
    )  # fmt: skip


def test_strict_makes_warnings_count(policy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 10, and how many."""
    policy.write_text(policy.read_text().replace("/workspace", "/tmp/workspace/"))
    code, out, err = said(capfd, "validate", "-f", str(policy), "--strict")
    assert (code, out) == (10, "policy valid (2 warnings)\n")
    assert f"{policy}:8:15: warning: on macOS /tmp leads to /private/tmp" in err


@pytest.mark.parametrize(
    ("name", "code"),
    [("nowhere.yaml", Exit.SOURCE), (".", Exit.SOURCE), ("open.yaml", Exit.SETTINGS)],
)
def test_a_file_that_cannot_be_taken(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, code: Exit
) -> None:
    """Missing or a folder: 4; one that anybody may write: 3."""
    (tmp_path / "open.yaml").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "open.yaml").chmod(0o666)
    assert said(capfd, "validate", "-f", str(tmp_path / name))[0] == code


def test_hostile_text_cannot_move_the_cursor(
    policy: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A key made of escape sequences is shown escaped."""
    policy.write_text(policy.read_text().replace("network:", '"net\\e[2J\\u202ework":'))
    code, _, err = said(capfd, "validate", "-f", str(policy))
    assert code == 3
    assert "\x1b" not in err
    assert "\u202e" not in err


def test_apply_says_what_when_and_what_stays(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr; the second time nothing changes; an invalid one is not taken."""
    monkeypatch.setenv("AUDIT_STORE", str(tmp_path / "store"))
    code, out, err = said(capfd, "apply", "-f", str(policy), "--sandbox", "agent-demo")
    assert (code, out) == (0, "")
    assert err.startswith("applied agent-readonly (sha256:ab6d41…) to agent-demo from 20")
    assert err.endswith("; events before keep the old text\n")
    code, _, err = said(capfd, "apply", "-f", str(policy), "--sandbox", "agent-demo")
    assert (code, err.endswith("nothing changed\n")) == (0, True)
    policy.write_text("spec: 1\n")
    code, _, err = said(capfd, "apply", "-f", str(policy), "--sandbox", "agent-demo")
    assert code == 3
    assert "nothing was done" in err
    with closing(sqlite3.connect(tmp_path / "store" / "control.db")) as con:
        assert con.execute("SELECT count(*) FROM policy_history").fetchone() == (1,)
    assert (tmp_path / "store" / "control.db").stat().st_mode & 0o777 == 0o600


def test_explain_shows_the_lines(policy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Decision, rule, what lost, lines, why, and what would change it."""
    words = ["explain", "-f", str(policy), "--path", "/workspace/.ssh/id", "--linux"]
    code, out, _ = said(capfd, *words)
    lines = [line.partition(str(policy))[0].rstrip() for line in out.splitlines()]
    assert (code, lines) == (0, [
        "DENY  read /workspace/.ssh/id",
        "",
        "rule  filesystem.deny[1]",
        "      matched too, and lost: filesystem.allow[0]",
        "",
        '      11        - path: "**/Keychains/**"',
        '    > 12        - path: "**/.ssh/**"',
        '      13        - path: "**/Library/Cookies/**"',
        *([""] if len(str(policy)) > 28 else []),
        "",
        "why   a deny beats every allow, here filesystem.allow[0]",
        "flip  no allow rule can change this; only removing or narrowing line 12 would.",
        "      Not advised: **/.ssh holds private keys",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("question", "rule", "decision"),
    [
        (["--path", "/workspace/x", "--access", "write"], "filesystem.allow[0]", "allow"),
        (["--path", "/etc/x"], "filesystem.default-deny", "deny"),
        (["--dst", "github.com:443"], "network.egress.deny-all", "deny"),
        (["--process", "git"], "process.allow[0]", "allow"),
        (["--process", "/opt/bin/node"], "process.default-deny", "deny"),
    ],
)
def test_explain_as_json_tries_its_own_advice(
    policy: Path, capfd: pytest.CaptureFixture[str], question: list[str], rule: str, decision: str
) -> None:
    """The edit, made by hand, gives the other decision."""
    code, out, _ = said(capfd, "explain", "-f", str(policy), *question, "--json")
    record = json.loads(out)
    assert (code, record["policy_rule"], record["decision"]) == (0, rule, decision)
    lines = policy.read_text().split("\n")
    edit = record["flip"]
    lines[edit["first"] - 1 : max(edit["last"], edit["first"] - 1)] = edit["lines"]
    policy.write_text("\n".join(lines))
    _, out, _ = said(capfd, "explain", "-f", str(policy), *question, "--json")
    assert json.loads(out)["decision"] != decision


@pytest.mark.parametrize(
    "question",
    [[], ["--path", "/a", "--dst", "b:1"], ["--path", "a"], ["--path", "/a/../b"],
     ["--path", "**/a"],
     ["--path", "/a", "--access", "fly"], ["--dst", "b"], ["--dst", "b:1", "--access", "read"]],
)  # fmt: skip
def test_a_question_that_is_none(
    policy: Path, capfd: pytest.CaptureFixture[str], question: list[str]
) -> None:
    """Exit 2 with a hint, never a guess."""
    code, out, err = said(capfd, "explain", "-f", str(policy), *question)
    assert (code, out) == (2, "")
    assert err.startswith("audit: error: ")


def test_the_schema_is_json(capfd: pytest.CaptureFixture[str]) -> None:
    """For an editor's settings."""
    code, out, _ = said(capfd, "schema")
    assert (code, json.loads(out)["title"]) == (0, "SandboxPolicy")
