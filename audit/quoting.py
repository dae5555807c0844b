"""Words of a command line that we print, safe to paste into a shell."""

import re
import shlex
from typing import Final

from audit_events.text import terminal

_BARE: Final = re.compile(r"[A-Za-z0-9_@%+:,./-]+")
# Between double quotes a shell still reads these.
_READ: Final = re.compile(r'[$`"\\!]')


def quoted(word: str) -> str:
    """The word as one would type it: bare, in double quotes, or as the shell's own rules want."""
    shown = terminal(word)
    if _BARE.fullmatch(shown):
        return shown
    return shlex.quote(shown) if _READ.search(shown) else f'"{shown}"'
