"""The real command with a pinned clock: `python -m tests.audit.launch WORD…`."""

import sys

from audit.main import run
from tests.audit.story import NOW


def main() -> int:
    """One command line."""
    if sys.argv[1:2] == ["query"]:
        from audit import nothing

        # On a machine that is busy with other tests too, all shares are wanted, however long.
        nothing.MAX_SEARCH_S = 60.0  # type: ignore[misc]
    return run(["audit", *sys.argv[1:]], now=lambda: NOW)


if __name__ == "__main__":
    sys.exit(main())
