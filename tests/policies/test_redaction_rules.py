"""The table of rules: what each must and must not mask, and that stage 1 misses nothing."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import MARKER
from policies.redact.rules import ALL_RULES, rules_digest
from policies.redact.scan import Scanner

KEY = FingerprintKey(b"k" * 32)
EXAMPLES = [(rule, text) for rule in ALL_RULES for text in rule.hits]
COUNTER_EXAMPLES = [(rule, text) for rule in ALL_RULES for text in rule.misses]
CASES = [
    line
    for name in (
        "redaction_cases.txt",
        "redaction_unseen.txt",
        "redaction_blind.txt",
        "redaction_third.txt",
        "redaction_fourth.txt",
        "redaction_fifth.txt",
        "redaction_sixth.txt",
        "redaction_seventh.txt",
        "redaction_eighth.txt",
        "redaction_ninth.txt",
        "redaction_tenth.txt",
        "redaction_eleventh.txt",
        "redaction_twelfth.txt",
    )
    for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()
    if line and not line.startswith("# ")
]
_ESCAPES = {
    r"\f": "\f",
    r"\e": "\x1b",
    r"\0": "\0",
    r"\u200b": "\u200b",
    r"\u000a": "\n",
    r"\u000d": "\r",
    "\u00b7": "",
    r"\u005c": "\\",
}
# A leak is a run of so many characters of the secret.
LEAK_CHARS = 6


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    """The redactor with all rules, as shipped."""
    return Redactor(ALL_RULES, KEY)


@pytest.fixture(scope="module")
def slow() -> Redactor:
    """The same without the matching engine."""
    return Redactor(ALL_RULES, KEY, engine=False)


def unescaped(case: str) -> str:
    """A line of the cases file as text."""
    for written, meant in _ESCAPES.items():
        case = case.replace(written, meant)
    return case


def leaked(secret: str, output: str) -> bool:
    """Whether a run of the secret is left outside of the markers."""
    rest = MARKER.sub("\0", output)
    size = min(LEAK_CHARS, len(secret))
    return any(secret[at : at + size] in rest for at in range(len(secret) - size + 1))


@pytest.mark.parametrize(("rule", "text"), EXAMPLES, ids=lambda v: getattr(v, "id", ""))
def test_a_rule_masks_its_examples(rule, text):
    """Each example is masked by its own rule alone."""
    alone = Redactor([rule], KEY, engine=False)
    assert alone.redact_text(text)[1][rule.kind] >= 1


@pytest.mark.parametrize(("rule", "text"), COUNTER_EXAMPLES, ids=lambda v: getattr(v, "id", ""))
def test_no_rule_masks_a_counter_example(redactor, rule, text):
    """What looks like it and is none stays as it is."""
    assert redactor.redact_text(text)[0] == text


@pytest.mark.parametrize("case", [case for case in CASES if "«" in case])
def test_a_secret_in_its_surroundings_is_masked(redactor, case):
    """No run of a marked secret is left, in any of the collected forms."""
    text = unescaped(case)
    output = redactor.redact_text(re.sub("[«»]", "", text))[0]
    for secret in filter(None, re.findall("«(.*?)»", text, re.DOTALL)):
        assert not leaked(secret, output)


@pytest.mark.parametrize("case", [case for case in CASES if "«" not in case])
def test_what_holds_no_secret_stays(redactor, case):
    """Look-alikes are not touched."""
    text = unescaped(case)
    assert redactor.redact_text(text)[0] == text


@pytest.mark.parametrize("case", CASES)
def test_doing_it_twice_changes_nothing(redactor, case):
    """Redacted text is a fixed point: markers are neither masked nor escaped again."""
    once = redactor.redact_text(re.sub("[«»]", "", unescaped(case)))[0]
    assert redactor.redact_text(once)[0] == once


_ATOMS = [text for _, text in EXAMPLES] + [
    "password", "token", "=", ": ", "%3D", '"', "'", "\f", "\n", " ", "/", "é", "\u200b", "--",
    "x9K2m", "\\", "[REDACTED:", "-p", "mysql", "Bearer ", "@", "://", ",", "&", "\x1b[0m", "=\n",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(_ATOMS), min_size=1, max_size=6).map("".join))
def test_the_engine_loses_nothing_that_the_slow_way_masks(redactor, slow, text):
    """With and without the matching engine the answer is one: stage 1 never loses a hit."""
    for column in ("message", "path"):
        assert redactor.redact_text(text, column) == slow.redact_text(text, column)


def test_rule_ids_are_unique_and_kinds_fit_a_marker():
    """A kind is what `--secret` takes and a marker shows."""
    ids = [rule.id for rule in ALL_RULES]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{1,40}", rule.kind) for rule in ALL_RULES)


def test_every_rule_says_what_it_is_and_shows_an_example():
    """A row without description or example is no row."""
    assert all(rule.description and rule.hits for rule in ALL_RULES)


def test_the_digest_names_the_rules():
    """Another table, another digest."""
    assert rules_digest(ALL_RULES) == rules_digest(ALL_RULES)
    assert rules_digest(ALL_RULES) != rules_digest(ALL_RULES[1:])


def test_stage_one_is_generated_from_stage_two():
    """No rule has a second pattern that could fall behind the first."""
    scanner = Scanner(ALL_RULES)
    assert scanner.fast
    texts = [text for _, text in EXAMPLES if text.isascii() and "\n" not in text]
    hits = scanner.scan(texts)
    assert len(hits) == len(texts)


SEEDS = ("a,password\n", "a;secret;b\nx;y;z\n", "  token  x\n", "wallet [1,2,", "password \x7f ",
         "--value x --name db_password ", "secretsdump.py a:", "ghcr.io/a/password:a",
         "password=", "mysql -p ", "eyJ", "://a:", "-----BEGIN RSA PRIVATE KEY-----\n",
         "a" * 50 + "=\n", "%3D", '"token": "', "Cookie: a=b; ", "echo x | ", "curl -u a",
         "-p ", "token ", "a:b@", "secrets set A=b ", "x=y&",
         "-----BEGIN PRIVATE KEY-----", "UFJJVkFURSBLRVkt", "a:bcdefg@", "token->", "<<< x ",
         "AKIA", "('password',", "[\"a\",\"b\",", "connect('a', 'b', ",
         "cat token ", "recovery codes: ",
         "op read x\n", "[\"pass\":{", "password....", "Some(", "=\nA", "creds a / ",
         "password [", "password [a]: ", "\n>>> token\n'", "> token\n", "sensitive=\ftrue\f",
         "value=\fabcd\f", "password\fa=\f", "password: {", "key1: ", "btoa('a:", "x-api-key\f",
         "password.py:1:", "public-key a-1:", "token=`cat ", "secret: :pass",
         "ghp_a1B2\n", "a^\n", "aB3dE6gH9jK2mN5pQ8sT$\n", "ghp_",
         "base32: ABCD ", "dt0s01.AAAAAAAA", "vercel -t ", "net user a ",
         "--secret=a gcloud secrets x ", "$/progress token: 1 ", "-field=password a/b ",
         "password={ab1cd", "password: *a", "a.b.A", "env A= ", "x=#a", "MIIE ")  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_time_grows_with_size_only(redactor, seed):
    """A text built against a pattern takes four times as long when it is four times as large.

    Up to 1 MiB, where a field is masked whole; squared growth would be sixteen times.
    """
    import time

    def seconds(size):
        text = (seed * (size // len(seed) + 1))[:size]
        start = time.process_time()
        redactor.redact_text(text)
        return time.process_time() - start

    small, large = seconds(256 << 10), seconds(1 << 20)
    assert large < 9 * max(small, 0.02)
    assert large < 8
