"""What every test relies on, whoever started the run."""

import signal
from collections import OrderedDict
from contextlib import suppress
from typing import Any

# Enough for our rules, a user's packs and the engine's known answers.
MAX_AUTOMATA = 12

# A run in the background of a script ignores Ctrl-C, and so would the commands under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def compile_once() -> None:
    """The automaton of the same patterns is made once a process: that takes a second and more, and
    what is made never changes. Who scans with it still gets a scanner of his own."""
    import pyperscan

    pattern, database = pyperscan.Pattern, pyperscan.BlockDatabase
    made: OrderedDict[str, Any] = OrderedDict()

    def make(*given: tuple[Any, tuple[Any, ...], int]) -> Any:
        # The engine's flags cannot be hashed, but each says its name.
        key = repr(given)
        if key not in made:
            made[key] = database(*(pattern(raw, *flags, tag=tag) for raw, flags, tag in given))
        made.move_to_end(key)
        if len(made) > MAX_AUTOMATA:
            made.popitem(last=False)
        return made[key]

    pyperscan.Pattern = lambda raw, *flags, tag=0: (raw, flags, tag)
    pyperscan.BlockDatabase = make


with suppress(ImportError):
    compile_once()
