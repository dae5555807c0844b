"""The real command with a pinned clock: `python -m tests.audit.launch WORD…`."""

import sys

from audit.main import run
from tests.audit.story import NOW

if __name__ == "__main__":
    sys.exit(run(["audit", *sys.argv[1:]], now=lambda: NOW))
