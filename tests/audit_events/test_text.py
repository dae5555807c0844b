"""Text from hostile bytes: injective, encodable, bounded, harmless on a terminal."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_events.text import clip, from_bytes, from_str, terminal, to_bytes, typed

nasty_bytes = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from(
            [
                b"\xff",
                b"\xfe",
                b"\xf4\x8f\xbf\xbf",
                b"\xf4\x8f\xbe",
                "é".encode(),
                b"\xed\xa0\x80",
                b"/a",
            ]
        ),
        max_size=12,
    ).map(b"".join),
)


@given(nasty_bytes)
def test_every_byte_string_survives_the_round_trip(raw: bytes) -> None:
    """Text is lossless: the bytes come back, and the text is encodable as UTF-8."""
    text = from_bytes(raw)
    assert to_bytes(text) == raw
    assert text.encode().decode() == text


@given(nasty_bytes, nasty_bytes)
def test_two_different_paths_stay_two(one: bytes, other: bytes) -> None:
    """The escape is injective."""
    assert (from_bytes(one) == from_bytes(other)) == (one == other)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Co"])))
def test_ordinary_text_is_untouched(text: str) -> None:
    """What is UTF-8 and outside the escape range stays as it is."""
    assert from_bytes(text.encode()) == text


@given(st.text(alphabet=st.characters(), max_size=40))
def test_text_of_a_json_decoder_becomes_encodable(text: str) -> None:
    """Lone surrogates and the escape range are escaped, injectively."""
    safe = from_str(text)
    assert to_bytes(safe) == text.encode("utf-8", "surrogatepass")


def test_a_megabyte_of_damage_is_decoded_in_linear_time() -> None:
    """Hostile bytes cost no more than a few times honest ones of the same size."""
    started = time.perf_counter()
    from_bytes(b"\xff\xf4\x8f\xbf\xbf" * 200_000)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2J\x1b]0;PWN\x07", r"\x1b[2J\x1b]0;PWN\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("ALLOW\r", r"ALLOW\r"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b\u200b", r"a\u2028b\u200b"),
        ("\U000e0041", r"\U000e0041"),
        ("\u0301x", r"\u0301x"),
        ("日本 é", "日本 é"),
    ],
)
def test_a_terminal_shows_controls_instead_of_obeying_them(raw: str, shown: str) -> None:
    """C0, C1, DEL, bidi, separators, invisible and leading combining characters are escaped."""
    assert terminal(raw) == shown


def test_bytes_that_are_no_text_are_shown_as_hex() -> None:
    r"""A path with byte 0xff reads \xff."""
    assert terminal(from_bytes(b"/workspace/\xff")) == r"/workspace/\xff"


@given(st.text(max_size=40), st.booleans())
def test_no_raw_control_reaches_a_terminal(text: str, unicode: bool) -> None:
    """Whatever the text, nothing that a terminal acts on is left."""
    shown = terminal(text, unicode=unicode)
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in shown)
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    )
    assert unicode or shown.isascii()


@given(st.text(max_size=200), st.integers(8, 100))
def test_a_clipped_field_keeps_its_bound(text: str, limit: int) -> None:
    """At most `limit` bytes, and the flag says whether something was cut."""
    encodable = from_str(text)
    kept, cut = clip(encodable, limit)
    assert len(kept.encode()) <= limit
    assert cut == (len(encodable.encode()) > limit)
    assert encodable.startswith(kept)


def test_a_cut_never_leaves_half_a_token() -> None:
    """Half a secret is a secret that no rule recognises: the unfinished word goes too."""
    kept, _ = clip("curl --token ghp_" + "a" * 100, 40)
    assert kept == "curl --token "


@given(st.text(st.characters(exclude_characters="\\", exclude_categories=["Cs"]), max_size=20))
def test_what_a_screen_shows_can_be_typed_back(text: str) -> None:
    """One of the texts that a shown text may mean is the text that was shown."""
    assert text in typed(terminal(text)) or text != from_str(text)


@given(st.binary(max_size=20).filter(lambda raw: b"\\" not in raw and b"\xc2" not in raw))
def test_bytes_that_a_screen_shows_can_be_typed_back(raw: bytes) -> None:
    """Bytes that are no UTF-8 too; 0xC2 leads the characters that are shown like a byte."""
    assert from_bytes(raw) in typed(terminal(from_bytes(raw)))


def test_an_escape_may_mean_a_byte_or_a_character() -> None:
    r"""`\x85` is shown for the byte and for U+0085; a text without `\` means itself alone."""
    assert typed(r"/w/\x85") == (r"/w/\x85", "/w/" + from_bytes(b"\x85"), "/w/\x85")
    assert typed(r"\u202e\n\ud800") == (r"\u202e\n\ud800", "\u202e\n" + r"\ud800")
    assert typed("/w/a b") == ("/w/a b",)
