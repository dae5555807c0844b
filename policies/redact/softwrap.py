"""Tokens of a known length that a terminal or a mail cut: joined, so that rules see them whole."""

import re
from typing import Final

from policies.redact.view import View

# What follows a prefix is of one length, so it is known how much of it the next line holds.
_LENGTHS: Final = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "pnu_", "pnb_", "ddp_"), 36),
    **dict.fromkeys(("glpat-", "gldt-", "glsoat-", "GR1348941"), 20),
    **dict.fromkeys(("AKIA", "ASIA"), 16),
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_", "sk-or-v1-", "napi_", "nvapi-"), 64),
    **dict.fromkeys(("squ_", "sqp_", "sqa_", "sbp_", "lin_api_", "figd_", "bkua_"), 40),
    **dict.fromkeys(("phx_", "CFPAT-"), 43),
    **dict.fromkeys(("pplx-", "csk-", "rubygems_"), 48),
    **dict.fromkeys(("shpat_", "shpss_", "shpca_", "rnd_", "dapi", "cio"), 32),
    "github_pat_": 82, "AIza": 35, "GOCSPX-": 28, "hf_": 34, "r8_": 37, "dckr_pat_": 27, "SG.": 66,
    "ntn_": 46, "gsk_": 52, "glsa_": 41, "tfp_": 59, "PMAK-": 59, "sk-ant-api03-": 95,
    "sk-ant-oat01-": 95, "pul-": 40, "vcp_": 56, "rdme_": 70, "oct-": 36, "jina_": 60,
    "xkeysib-": 81, "phs_": 43, "tvly-": 32, "tvly-dev-": 32, "ctx7sk-": 36,
    "whsec_": 32, "xai-": 80, "glptt-": 40, "LTAI": 20, "sntryu_": 64, "AGE-SECRET-KEY-1": 58,
}  # fmt: skip
_LETTERS: Final = "[A-Za-z0-9_.-]"
_PREFIXES: Final = "|".join(re.escape(prefix) for prefix in sorted(_LENGTHS, key=len, reverse=True))
_PREFIX: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{_PREFIXES})", re.ASCII)
_BREAK: Final = r"(?:\r?\n|(?:\\{1,2}r)?\\{1,2}n)"
PROOF: Final = rf"(?:{_PREFIXES}){_LETTERS}{{0,100}}{_BREAK}[ \t>|]{{0,18}}[A-Za-z0-9_-]"
_RUN: Final = re.compile(rf"{_LETTERS}+", re.ASCII)
_GAP: Final = re.compile(rf"{_BREAK}[ \t]{{0,16}}(?:[>|][ ])?", re.ASCII)
# A name that is set, or a longer word: the next line is one of its own.
_NO_REST: Final = re.compile(r"[A-Za-z0-9_-]|[ \t]{0,4}[=:]", re.ASCII)
_MAX_CUTS: Final = 3
_LEAST_PIECE: Final = 4
_MIXED: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[^0-9]*[0-9]")
_WORD_CHARS: Final = 12


def joined(view: View) -> View | None:
    """The view with such tokens in one piece; None if it has none that is cut."""
    cuts = sorted({cut for match in _PREFIX.finditer(view.text) for cut in _cuts(view.text, match)})
    if not cuts:
        return None
    pieces: list[str] = []
    origin: list[int] = []
    last = 0
    for start, end in [*cuts, (len(view.text), len(view.text) + 1)]:
        pieces.append(view.text[last:start])
        origin.extend(range(last, start))
        last = end
    origin.append(len(view.text))
    if view.origin is not None:
        origin = [view.origin[at] for at in origin]
    return View("".join(pieces), origin, view.whole)


def _cuts(text: str, match: re.Match[str]) -> list[tuple[int, int]]:
    """The line ends within the token that begins here, if the pieces make it exactly whole."""
    missing, at = _LENGTHS[match[0]], match.end()
    cuts: list[tuple[int, int]] = []
    while True:
        run = _RUN.match(text, at, at + missing)
        if run is None and cuts:
            return []
        size = len(run[0]) if run else 0
        missing, at = missing - size, at + size
        if not missing:
            break
        gap = _GAP.match(text, at)
        if gap is None or len(cuts) == _MAX_CUTS:
            return []
        cuts.append(gap.span())
        at = gap.end()
    if not cuts or _NO_REST.match(text, at):
        return []
    rest = text[cuts[-1][1] : at]
    if len(rest) < _LEAST_PIECE or (rest.isalpha() and rest in (rest.lower(), rest.title())):
        return [] if len(rest) < _WORD_CHARS else cuts
    # The name of a kind at the end of a line, and a digest below.
    alone = cuts[0][0] - match.end() < _LEAST_PIECE
    return [] if alone and not _MIXED.match(text[cuts[0][1] : at]) else cuts
