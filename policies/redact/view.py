"""What the rules look at: text as plain ASCII, disguises removed, with the way back to the text."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

# Stands for any character that no rule names. It is no blank, so a value may hold it.
OTHER: Final = "\x7f"
# Stands for the sign that says that something was left out.
LEFT_OUT: Final = "\x06"
# Between the elements of an argv and the leaves of a JSON object. A blank to both engines.
BREAK: Final = "\f"

# Letters of other scripts that are drawn like ASCII; a forged key name is still that key.
_CONFUSABLE: Final = dict(
    zip(
        "аеорсхуіјѕһԁԛԝАВЕКМНОРСТХУІЈЅαοενρτυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɡʟ",
        "aeopcxyijshdqwABEKMHOPCTXYIJSaoevptuikABEZHIKMNOPTYXigL",
        strict=True,
    )
)
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_ENTITIES: Final = {
    "lt": "<", "gt": ">", "quot": '"', "amp": "&", "#34": '"', "#39": "'", "#x3d": "=", "#x3D": "=",
}  # fmt: skip
_WRAPPED: Final = re.compile(
    "%(?:25)?([2-7][0-9A-Fa-f])|\\\\{1,2}(?:u00|x)([2-7][0-9A-Fa-f])"
    # A line that goes on: a backslash, a caret in cmd (no mark of a compiler), base64 by cat -A.
    "|(=\r?\n|\\\\\r?\n|(?<=[^\\s^~] )\\^\r?\n|(?<=[^\\s`] )`\r?\n"
    # In the middle of a word only if what follows is no name or word of its own: values end so too.
    "|(?<=[^\\s^~])\\^\r?\n(?![A-Za-z_][\\w.-]*[ ]?[=:])"
    "(?=[^\\s\"'^]*[A-Z0-9]|[^\\s\"'^]+(?:[\"'^]|\\Z|[ ]-|[ ][a-z]+://))"
    "|(?<=[A-Za-z0-9+/]{16})(?:\\^M)?\\$\r?\n(?=[A-Za-z0-9+/]{4,}={0,2}(?:[\\^$\\s]|\\Z))|\x1b\\[[0-9;]{0,16}m|\\\\(?:x1b|u001b|e|033)\\[[0-9;]{0,16}m)"
    "|(\\\\?[\"'][ ]?,[ ]?\\\\?[\"'])|\\\\{1,2}0?(1[0-7]{2}|0[4-7][0-7]|7[25](?![0-7]))"
    '|\\\\(["\'/\\\\])|("?[ \\t]a[0-9]{1,3}=")|&(lt|gt|quot|amp|#34|#39|#x3[dD]);'
    r"|(\\?[\"'][ ]?[\])])"
    r"|(?:&#[xX]0{0,4}|\\{1,2}u\{0{0,4})([2-7][0-9A-Fa-f])[;}]|&#0{0,3}([3-9][0-9]|1[01][0-9]|12[0-6]);"
)


@dataclass(frozen=True, slots=True)
class View:
    """ASCII text to match, and the way back to the text it was made of.

    `origin[i]` is where character i came from, None if nothing moved. `whole` are the borders of a
    blob that can only be masked in one piece.
    """

    text: str
    origin: Sequence[int] | None = None
    whole: tuple[int, int] | None = None

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that [start, end) of the view stand for."""
        if self.whole is not None:
            return self.whole
        if self.origin is None:
            return start, end
        return self.origin[start], self.origin[end]


# Words for a password or token in other scripts, as short English ones of the same length.
_FOREIGN: Final = {
    "パスワード": "\x7f\x7fpwd", "パスコード": "\x7f\x7fpwd", "暗証番号": "\x7fpwd",
    "비밀번호": "\x7fpwd",
    "пароль": "passwd", "Пароль": "passwd", "ПАРОЛЬ": "passwd", "密码": "pw", "密碼": "pw",
    "口令": "pw", "암호": "pw", "סיסמה": "\x7f\x7fpwd", "合言葉": "pwd", "κωδικός": "\x7fpasswd",
    "トークン": "\x7f\x7fpw", "токен": "token", "Токен": "token", "令牌": "pw", "密钥": "pw",
}  # fmt: skip
_FOREIGN_WORD: Final = re.compile("|".join(_FOREIGN))


def plain(text: str) -> View:
    """The view of the text as it stands."""
    if text.isascii():
        return View(text)
    text = _FOREIGN_WORD.sub(lambda word: _FOREIGN[word[0]], text)
    if not _INVISIBLE.search(text):
        return View("".join(map(_ascii, text)))
    kept = [i for i, char in enumerate(text) if not _INVISIBLE.match(char)]
    return View("".join(_ascii(text[i]) for i in kept), [*kept, len(text)])


def unwrapped(view: View) -> View | None:
    """The view with escapes, line folds and colours taken off; None if it has none."""
    pieces: list[str] = []
    origin: list[int] = []
    last, listed = 0, False
    for match in _WRAPPED.finditer(view.text):
        if match[3] and match[3][0] == "=" and _padding(view.text, match):
            continue
        listed = listed or bool(match[4])
        # The end of a list ends its last argument; elsewhere such a sign may be part of a value.
        if match[9] and not listed:
            continue
        pieces.append(view.text[last : match.start()])
        origin.extend(range(last, match.start()))
        last = match.end()
        if meant := _meant(match):
            pieces.append(meant)
            origin.append(match.start())
    if not last:
        return None
    pieces.append(view.text[last:])
    origin.extend(range(last, len(view.text) + 1))
    if view.origin is not None:
        origin = [view.origin[i] for i in origin]
    return View("".join(pieces), origin, view.whole)


_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{15,16}=?")
_NAME: Final = re.compile(r"[ \t]*(?:[A-Za-z_][\w. -]{0,60}[=:]|\[|\Z)")


def _padding(text: str, match: re.Match[str]) -> bool:
    """Whether the = ends base64 and a new line with a name of its own follows: no fold."""
    before = text[max(0, match.start() - _CODED_CHARS) : match.start()]
    return bool(_CODED.fullmatch(before) and _NAME.match(text, match.end()))


_CODED_CHARS: Final = 16


def _meant(match: re.Match[str]) -> str:
    """The character that an escape stands for; nothing for a fold or a colour."""
    if code := match[1] or match[2] or match[10]:
        return chr(int(code, 16))
    if match[11]:
        return chr(int(match[11]))
    # The arguments of a list in a text, or of an audit record: a0="mysql" a1="-pX".
    if match[4] or match[7] or match[9]:
        return BREAK
    if match[5]:
        return chr(int(match[5], 8))
    return match[6] or _ENTITIES.get(match[8] or "", "")


@cache
def _ascii(char: str) -> str:
    if char.isascii():
        return char
    if char == "\u2026":
        return LEFT_OUT
    alike = _CONFUSABLE.get(char)
    if alike:
        return alike
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 and folded.isascii() else OTHER
