"""Print the part of a constraints file that the product needs at run time, hashes included."""

import re
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def runtime_names(project: Path) -> set[str]:
    """The project's dependencies and theirs, as far as they apply to this platform."""
    waiting = list(tomllib.loads(project.read_text())["project"]["dependencies"])
    names: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and name not in names:
            names.add(name)
            waiting += requires(name) or []
    return names


def main(constraints: Path) -> None:
    """Write the blocks of the wanted names to stdout."""
    wanted = runtime_names(Path("pyproject.toml"))
    for block in re.split(r"\n(?=[a-z0-9])", constraints.read_text()):
        if canonicalize_name(block.partition("==")[0]) in wanted:
            print(block)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
