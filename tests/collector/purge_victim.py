"""A purge that kills itself with SIGKILL at a named step. argv: folder of the house, step."""

import os
import signal
import sys
from pathlib import Path

from tests.collector.storekit import House
from tests.collector.test_purge import run


def main() -> None:
    """Purge the house; the step ends the process the hard way."""
    folder, step = sys.argv[1:3]

    def on_step(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    run(House(Path(folder)), on_step=on_step)


if __name__ == "__main__":
    main()
