"""The gate over whole batches: every column and shape, any cut of rows, closed on failure."""

import ast
import json
import re
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.arrow import EVENT_SCHEMA
from audit_events.rows import rows_to_batch
from policies.redact import default_redactor
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import MAX_TEXT_CHARS
from policies.redact.rule import Rule
from policies.redact.rules import ALL_RULES
from policies.redact.scan import SelfTestError
from policies.redact.state import MAX_STREAMS, State, dump_state, load_state

KEY = FingerprintKey(b"k" * 32)
TOKEN = "oct-3fa94c1d-22b0-4e58-86af-10c9d4b1e277"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEpAIBAAKCAQEAvXLjvsJUsV2sskAYgXp07QROG0ZxAb2lX8V1eo8aXGOWowI3\n"
    "AajKKwq8WrxyD5VlcPaLTyVUhr6xWkrBuiEIgp77LEGsax7a4PYOqazaPJPe7ek2\n"
    "YUAaYd1o57aojFRahiqd1nLMoaLMB5JNRWtpmcPcwHa48BamOee\n"
    "-----END RSA PRIVATE KEY-----"
)
REPO = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    """The redactor as shipped."""
    return default_redactor(KEY)


def redacted(redactor: Redactor, *rows: dict, state: State | None = None) -> list[dict]:
    """Rows through the gate."""
    return redactor.redact(rows_to_batch(rows), state or State())[0].to_pylist()


def event(message: str | None, pid: int = 1, source: str = "s", **more: object) -> dict:
    """A row with a message."""
    return {"message": message, "pid": pid, "source": source, **more}


TEXT = [f.name for f in EVENT_SCHEMA if pa.types.is_string(f.type) and "redaction" not in f.name]


@pytest.mark.parametrize("column", TEXT)
def test_every_text_column_is_covered(redactor, column):
    """A token is masked wherever a source puts it, and counted once."""
    value = {"command": json.dumps(["run", TOKEN]), "extra": json.dumps({"a": TOKEN})}.get(
        column, TOKEN
    )
    [row] = redacted(redactor, {column: value})
    assert "3fa94c1d-22b0" not in row[column]
    assert re.search(r"\[REDACTED:openclaw-token:[0-9a-f]{12}\]", row[column])
    assert (row["redactions"], row["redaction_kinds"]) == (1, "openclaw-token")


def test_a_batch_without_secrets_is_unchanged_but_for_the_digest(redactor):
    """Columns without a hit are the same data, and each row names the rules that looked at it."""
    batch = rows_to_batch([{"path": "/workspace/a.py", "process": "git"}] * 3)
    out = redactor.redact(batch, State())[0]
    assert out.column("path").equals(batch.column("path"))
    assert out.column("redactions").to_pylist() == [0, 0, 0]
    assert out.column("redaction_kinds").null_count == 3
    assert set(out.column("redaction_digest").to_pylist()) == {redactor.digest}


def test_an_empty_batch_passes(redactor):
    """No rows in, no rows out."""
    out, state = redactor.redact(rows_to_batch([]), State())
    assert (out.num_rows, state.idle) == (0, True)


def test_a_path_keeps_its_depth_and_its_other_components(redactor):
    """Each component is masked on its own."""
    [row] = redacted(redactor, {"path": f"/w/{TOKEN}/x_{TOKEN}.json"})
    assert re.fullmatch(r"/w/\[REDACTED:[^/]*\]/x_\[REDACTED:[^/]*\]\.json", row["path"])
    assert row["redactions"] == 2


def test_a_secret_with_slashes_keeps_the_depth(redactor):
    """A webhook in a path is masked component by component."""
    path = "/cache/hooks.slack.com/services/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"
    [row] = redacted(redactor, {"path": path})
    assert row["path"].count("/") == path.count("/")
    assert "woZBjw" not in row["path"]


def test_an_argv_stays_an_argv(redactor):
    """Only the secret's element changes, also when flag and value are two elements."""
    argv = ["tool", "--password", 'two "words"', "-v", "a b"]
    [row] = redacted(redactor, {"command": json.dumps(argv)})
    assert json.loads(row["command"]) == ["tool", "--password", "[REDACTED:password]", "-v", "a b"]


def test_unknown_keys_stay_an_object_with_everything_else_as_written(redactor):
    """Values, keys and numbers are masked; the rest keeps its very text."""
    extra = (
        '{"n": 12345678901234567890123, "f": 1.50, "password": "hu\\"nter 2", "'
        + TOKEN
        + '": [1, null]}'
    )
    [row] = redacted(redactor, {"extra": extra})
    assert row["extra"].startswith(
        '{"n": 12345678901234567890123, "f": 1.50, "password": "[REDACTED:password]"'
    )
    assert json.loads(row["extra"])
    assert TOKEN not in row["extra"]


def test_a_number_behind_a_strong_name_is_masked(redactor):
    """A PIN is a secret although it is no string."""
    [row] = redacted(redactor, {"extra": '{"passcode": 739201, "retries": 3}'})
    assert json.loads(row["extra"]) == {"passcode": "[REDACTED:password]", "retries": 3}


def test_equal_secrets_have_equal_fingerprints_in_every_dress(redactor):
    """Where else was it? The fingerprint does not depend on the field or the encoding."""
    pad = TOKEN[:12] + "\u200b" + TOKEN[12:]
    rows = redacted(redactor, {"path": f"/w/{TOKEN}"}, {"message": f"use {pad} now"},
                    {"command": json.dumps([TOKEN])})  # fmt: skip
    found = {
        re.search(r"openclaw-token:([0-9a-f]{12})", json.dumps(row, default=str))[1] for row in rows
    }
    assert len(found) == 1


def test_another_key_gives_other_fingerprints(redactor):
    """Without the key nobody can try out values."""
    other = default_redactor(FingerprintKey(b"j" * 32))
    assert redactor.redact_text(TOKEN)[0] != other.redact_text(TOKEN)[0]


def test_a_password_has_no_fingerprint(redactor):
    """Whoever holds the key could guess it, and equal prints would show reuse."""
    assert redactor.redact_text("DB_PASSWORD=monkey1269")[0] == "DB_PASSWORD=[REDACTED:password]"


def test_a_marker_cannot_be_forged(redactor):
    """What comes in as a marker is no marker afterwards."""
    forged = "/w/[REDACTED:openclaw-token:3fa94c1d22b0].json"
    [row] = redacted(redactor, {"path": forged, "message": forged, "process": "[REDACTED:x"})
    for column in ("path", "message", "process"):
        assert "[REDACTED:openclaw-token" not in row[column]
        assert "[REDACTED%3A" in row[column]


def test_redacted_text_is_not_redacted_again(redactor):
    """Markers of our own are kept when text is known to be redacted."""
    once = redactor.redact_text(f"token={TOKEN} password: hunter2!x")[0]
    assert redactor.redact_text(once)[0] == once


# --- fail closed ---------------------------------------------------------------------------------


def broken_rule() -> Rule:
    """A rule whose check raises with the text in the error."""

    def check(match: re.Match[str]) -> bool:
        raise RuntimeError(match[0])

    return Rule("broken", "broken", "raises", "boom", check=check, hits=("boom",))


def test_a_rule_that_errs_masks_the_whole_field():
    """Nothing of the field passes, the row is flagged, the others are not."""
    gate = Redactor([*ALL_RULES, broken_rule()], KEY)
    rows = redacted(
        gate, {"message": "boom here", "flags": "timeout", "path": "/a/boom/b"}, {"message": "ok"}
    )
    assert rows[0]["message"] == "[REDACTED:redactor-error]"
    assert rows[0]["path"] == "/" + "/".join(["[REDACTED:redactor-error]"] * 3)
    assert (rows[0]["flags"], rows[0]["redaction_kinds"]) == (
        "masked_field,timeout",
        "redactor-error",
    )
    assert (rows[1]["message"], rows[1]["flags"]) == ("ok", None)


def test_an_argv_that_errs_stays_json():
    """Readers of `command` and `extra` still get what they expect."""
    gate = Redactor([broken_rule()], KEY)
    [row] = redacted(gate, {"command": '["boom"]', "extra": '{"a":"boom"}'})
    assert json.loads(row["command"]) == ["[REDACTED:redactor-error]"]
    assert isinstance(json.loads(row["extra"]), dict)


def test_a_field_over_the_bound_that_hits_is_masked_whole(redactor):
    """A field's time is bounded; what is over the bound is not looked through."""
    text = "a" * MAX_TEXT_CHARS + TOKEN
    assert redactor.redact_text(text)[0] == "[REDACTED:too-long]"


def test_an_engine_that_loses_matches_refuses_to_start():
    """An example that stage 1 does not see stops the redactor before it lets anything through."""
    blind = Rule("blind", "blind", "sees nothing", "aaa", hits=("bbb",))
    with pytest.raises(SelfTestError, match="blind"):
        Redactor([blind], KEY)


# --- over several events -------------------------------------------------------------------------


def masked_lines(redactor: Redactor, lines: list[str], **stream: object) -> list[str]:
    """Each line an event of one process, each event a batch."""
    state, out = State(), []
    for line in lines:
        batch, state = redactor.redact(rows_to_batch([event(line, **stream)]), state)
        out.append(batch.column("message")[0].as_py())
    return out


def test_a_private_key_line_by_line_is_masked(redactor):
    """Every line of the body, none of what follows it."""
    out = masked_lines(redactor, [*PEM.split("\n"), "all done here", "exit 0"])
    assert out[0] == PEM.split("\n")[0]
    assert out[1:4] == ["[REDACTED:private-key]"] * 3
    assert out[4:] == [PEM.split("\n")[-1], "all done here", "exit 0"]


def test_a_private_key_that_never_ends_masks_no_prose(redactor):
    """The body is over with the first line that is none."""
    out = masked_lines(redactor, [*PEM.split("\n")[:2], "error: file is cut", "word"])
    assert out[2:] == ["error: file is cut", "word"]


def test_streams_do_not_mix(redactor):
    """Another process may print base64 while a key is open."""
    begin, body = PEM.split("\n")[:2]
    harmless = "Q" * 60
    rows = redacted(
        redactor, event(begin, 1), event(harmless, 2), event(body, 1), event(harmless, 1, "other")
    )
    assert [row["message"] for row in rows] == [begin, harmless, "[REDACTED:private-key]", harmless]


def test_a_value_in_the_next_event_is_masked(redactor):
    """A prompt, then what was typed."""
    assert masked_lines(redactor, ["Password: ", "hunter2!", "hunter2!"])[1:] == [
        "[REDACTED:password]",
        "hunter2!",
    ]


def test_a_sentence_after_a_prompt_stays(redactor):
    """Only a single word can be the value."""
    assert masked_lines(redactor, ["Password: ", "login incorrect"])[1] == "login incorrect"


LINES = st.sampled_from(
    [*PEM.split("\n"), PEM, PEM[:150], "Password: ", "hunter2!", "api_key=", "done", "all is well",
     TOKEN, f"x {TOKEN}", "Q" * 50, "", "Proc-Type: 4,ENCRYPTED", "[REDACTED:x",
     "é password=pässwörd1", None]
)  # fmt: skip
ROWS = st.lists(
    st.builds(event, LINES, st.sampled_from([1, 2, None]), st.sampled_from(["a", "b"])), max_size=14
)


@settings(max_examples=80, deadline=None)
@given(rows=ROWS, cuts=st.sets(st.integers(0, 13)))
def test_any_cut_into_batches_gives_the_same(redactor, rows, cuts):
    """Batches are an accident of timing and must not show; nor must a restart between them."""
    whole, end = redactor.redact(rows_to_batch(rows), State())
    borders = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    state, parts = State(), []
    for start, stop in pairwise(borders):
        part, state = redactor.redact(
            rows_to_batch(rows[start:stop]), load_state(dump_state(state))
        )
        parts.extend(part.to_pylist())
    assert parts == whole.to_pylist()
    assert state == end


@settings(max_examples=40, deadline=None)
@given(rows=ROWS)
def test_redaction_counts_are_markers(redactor, rows):
    """`redactions` is the number of markers in the row, for fields that did not fail."""
    for row in redactor.redact(rows_to_batch(rows), State())[0].to_pylist():
        assert row["redactions"] == len(re.findall(r"\[REDACTED:", row["message"] or ""))


def test_the_state_holds_no_text(redactor):
    """It is stored in clear beside the position."""
    _, state = redactor.redact(
        rows_to_batch([event(PEM[:150]), event("Password: hunter2", 2), event("api_key=", 3)]),
        State(),
    )
    assert json.loads(dump_state(state))["streams"] == [
        ["s", 1, "private-key"],
        ["s", 3, "awaiting"],
    ]


def test_too_many_open_streams_close_the_gate_for_all():
    """Nothing is forgotten: with more open streams than we keep, each counts as open."""
    state = State().after({("s", pid): "private-key" for pid in range(MAX_STREAMS + 1)})
    assert state.of(("elsewhere", None)) == "private-key"


@pytest.mark.parametrize("text", ["{", "[]", '{"streams":[1]}', "null"])
def test_a_damaged_state_counts_as_open(text):
    """Rather a line too many masked than a key let through."""
    assert load_state(text).overflow


@pytest.mark.parametrize("text", ["", "{}"])
def test_no_state_is_a_fresh_start(text):
    """A source that was never read has nothing open."""
    assert load_state(text).idle


# --- the type ------------------------------------------------------------------------------------


def test_only_the_engine_makes_a_redacted_batch():
    """No other module calls the type or casts to it, so that a plain batch fits nowhere."""
    makers = set()
    for path in REPO.glob("*/**/*.py"):
        if path.parts[len(REPO.parts)] in {".venv", "build", "dist", "tests", "bench"}:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _makes(node):
                makers.add(str(path.relative_to(REPO)))
    assert makers == {"policies/redact/engine.py"}


def _makes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "Redacted":
        return True
    return name == "cast" and bool(call.args) and "Redacted" in ast.dump(call.args[0])
