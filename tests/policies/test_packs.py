"""Packs: rules that a user adds and exceptions from ours, checked with places, never fail-open."""

import re
from pathlib import Path

import pytest

from audit.packs import load_packs, pack_path
from audit_events.errors import SettingsError
from audit_events.rows import rows_to_batch
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.packs import Pack, parse_pack
from policies.redact.rules import ALL_RULES
from policies.yaml_text import MAX_PROBLEMS, YamlError

KEY = FingerprintKey(b"k" * 32)
HEAD = "rules:\n"
# Packs with one fault each: a line with what is told of it, then the pack.
FAULTS = [
    tuple(block.split("\n", 1))
    for block in (Path(__file__).parent / "bad_packs.txt").read_text("utf-8").split("==== ")[1:]
]
BADGE = """
  - id: badge
    action: {action}
    pattern: '\\bBADGE-(?P<secret>[0-9]{{6}})'
"""


def gate(text: str, *, engine: bool = True) -> Redactor:
    """A redactor with our rules and one pack."""
    pack = parse_pack(HEAD + text, "test")
    return Redactor(
        (*pack.rules, *ALL_RULES), KEY, engine=engine, keeps=pack.keeps, drops=pack.drops
    )


def problems(text: str) -> list[str]:
    """What is wrong with a pack, as shown."""
    with pytest.raises(YamlError) as refused:
        parse_pack(text, "p")
    return [problem.shown("p.yaml") for problem in refused.value.problems]


def test_mask_hides_without_a_name() -> None:
    """`mask` is for what could be guessed."""
    assert gate(BADGE.format(action="mask")).redact_text("x BADGE-104233 y")[0] == (
        "x BADGE-[REDACTED:badge] y"
    )


def test_hash_names_equal_secrets_equally() -> None:
    """`hash` gives a fingerprint, so that one can be told from another."""
    out = gate(BADGE.format(action="hash")).redact_text("BADGE-104233 BADGE-104233 BADGE-999999")[0]
    first, second, third = re.findall(r"\[REDACTED:badge:([0-9a-f]{12})\]", out)
    assert first == second != third


@pytest.mark.parametrize("engine", [True, False])
def test_drop_field_leaves_the_shape_of_the_field(engine) -> None:
    """A dropped path keeps its depth, a dropped argv is an argv; other fields stay; it counts."""
    redactor = gate(BADGE.format(action="drop_field"), engine=engine)
    batch = rows_to_batch(
        [
            {"message": "a BADGE-104233", "path": "/x/BADGE-104233/y", "target": "stays"},
            {"command": '["a","BADGE-104233"]', "message": "ok"},
        ]
    )
    rows = redactor.redact(batch, redactor.initial_state())[0].to_pylist()
    assert rows[0]["message"] == "[REDACTED:badge]"
    assert rows[0]["path"] == "/[REDACTED:badge]" * 3
    assert rows[0]["target"] == "stays"
    assert (rows[0]["redactions"], rows[0]["redaction_kinds"]) == (2, "badge")
    assert rows[0]["flags"] is None
    assert (rows[1]["command"], rows[1]["message"]) == ('["[REDACTED:badge]"]', "ok")


def test_a_named_field_is_dropped_whatever_it_holds() -> None:
    """Without a pattern the column itself is the secret."""
    redactor = gate("  - {id: no-extra, action: drop_field, fields: [extra]}\n")
    batch = rows_to_batch([{"extra": '{"a":1}', "message": "m"}, {"message": "n"}])
    rows = redactor.redact(batch, redactor.initial_state())[0].to_pylist()
    assert rows[0]["extra"] == '{"[REDACTED:no-extra]": null}'
    assert (rows[1]["extra"], rows[1]["redactions"]) == (None, 0)


def test_keep_is_an_exception_from_our_rules_only() -> None:
    """What it covers stays, next to it is masked, and no user's rule is switched off."""
    text = "api_key=k9Xv2mQ7nBc4pLz8sDf1 password=hunter2!x"
    keep = "  - {id: known, action: keep, pattern: 'k9Xv2mQ7nBc4pLz8sDf1'}\n"
    assert gate(keep).redact_text(text)[0] == (
        "api_key=k9Xv2mQ7nBc4pLz8sDf1 password=[REDACTED:password]"
    )
    both = keep + "  - {id: mine, action: mask, pattern: k9Xv2mQ7nBc4pLz8sDf1}\n"
    assert gate(both).redact_text(text)[0] == (
        "api_key=[REDACTED:mine] password=[REDACTED:password]"
    )
    part = "  - {id: known, action: keep, pattern: 'k9Xv2mQ7nBc4'}\n"
    assert "[REDACTED:" in gate(part).redact_text(text)[0].partition(" ")[0]


def test_keep_may_name_the_rules_it_excepts() -> None:
    """Another rule that sees the same secret still masks it."""
    keep = "  - {id: known, action: keep, pattern: '\\w+', unless_rule: [stripe-key]}\n"
    assert "REDACTED" in gate(keep).redact_text("password=hunter2!x")[0]


def test_a_pattern_that_takes_too_long_masks_the_field() -> None:
    """Fail closed: a user's pattern built against itself costs its field, counted and flagged."""
    redactor = gate("  - {id: slow, action: mask, pattern: '(?:a|aa|aaa)+[0-9](?:a|aa)+b'}\n")
    text = "a" * 4000 + "1" + "a" * 4000 + "c 1ab a1ab"
    batch = rows_to_batch([{"message": text}, {"message": "fine"}])
    rows = redactor.redact(batch, redactor.initial_state())[0].to_pylist()
    assert rows[0]["message"] == "[REDACTED:redactor-error]"
    assert (rows[0]["flags"], rows[0]["redactions"]) == ("masked_field", 1)
    assert rows[1]["message"] == "fine"


def test_the_rules_in_force_are_in_the_digest() -> None:
    """Each event tells by which rules and exceptions it was masked."""
    digests = {
        Redactor(ALL_RULES, KEY).digest,
        gate(BADGE.format(action="mask")).digest,
        gate(BADGE.format(action="hash")).digest,
        gate("  - {id: known, action: keep, pattern: 'x1'}\n").digest,
        gate("  - {id: no-extra, action: drop_field, fields: [extra]}\n").digest,
    }
    assert len(digests) == 5


def test_the_same_pack_has_the_same_digest() -> None:
    """Order of sets must not show: two processes must agree."""
    keep = "  - {id: k, action: keep, pattern: 'x1', unless_rule: [bearer, basic, cookie]}\n"
    other = keep.replace("bearer, basic, cookie", "cookie, bearer, basic")
    name = keep.replace("id: k,", "id: kk,")
    assert gate(name).digest == gate(other.replace("id: k,", "id: kk,")).digest


@pytest.mark.parametrize(("told", "text"), FAULTS)
def test_a_fault_has_its_line_and_column(told, text) -> None:
    """What is wrong, where, and what was probably meant."""
    [shown] = problems(text)
    assert shown.startswith(f"p.yaml:{told}")


def test_at_most_ten_faults_are_told() -> None:
    """The first ones tell; a file of the wrong kind would give hundreds."""
    entries = "".join(f"  - {{id: r{n}, action: nope}}\n" for n in range(50))
    assert len(problems(HEAD + entries)) == MAX_PROBLEMS


@pytest.mark.parametrize(
    "bomb",
    ["[" * 5000, "rules:\n" + "  - {id: x}\n" * 60_000, "a: [*a, *a]", "x" * (1 << 21)],
    ids=["tower", "crowd", "aliases", "size"],
)
def test_a_bomb_is_one_fault(bomb) -> None:
    """Depth, number and size are judged before any tree is built."""
    assert len(problems(bomb)) == 1


def test_the_shipped_packs_are_sound() -> None:
    """Each can be switched on by its name, and its examples hold."""
    names = [path.stem for path in pack_path("example").parent.glob("*.yaml")]
    assert "example" in names
    for name in names:
        assert isinstance(load_packs([name]), Pack)


def test_two_packs_may_not_share_an_id(tmp_path) -> None:
    """Which of the two is in force would be anybody's guess."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("rules:\n  - {id: ab, action: mask, pattern: x1}\n")
    with pytest.raises(SettingsError, match="rule ab stands in"):
        load_packs([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")])


def test_a_pack_that_anybody_can_write_is_refused(tmp_path) -> None:
    """Who can write it can switch masks off."""
    pack = tmp_path / "a.yaml"
    pack.write_text("rules:\n  - {id: ab, action: mask, pattern: x1}\n")
    pack.chmod(0o666)
    with pytest.raises(SettingsError, match="anybody can write"):
        load_packs([str(pack)])
