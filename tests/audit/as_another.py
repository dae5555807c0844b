"""The real command as another account: `python -m tests.audit.as_another UID GID WORD…`.

A word `++` ends one command and begins the next; the exit code is the last one's. Everything is
imported first, since the interpreter itself may lie where the account cannot go.
"""

import importlib
import os
import pkgutil
import sys
from itertools import groupby

import arro3.core
import arro3.io
import duckdb
import msgspec.json
import pyarrow.compute
import pyarrow.parquet
import watchdog.observers
import zstandard

import audit
import exporters
import query
from audit.main import run

LIBRARIES = (arro3.core, arro3.io, duckdb, msgspec.json, pyarrow.compute, pyarrow.parquet)
MORE = (watchdog.observers, zstandard)


def main() -> int:
    """Become the account for good, then be the command."""
    uid, gid, code = int(sys.argv[1]), int(sys.argv[2]), 0
    for package in (audit, exporters, query):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    "x".encode("idna")
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    for end, words in groupby(sys.argv[3:], "++".__eq__):
        code = code if end else run(["audit", *words])
    return code


if __name__ == "__main__":
    sys.exit(main())
