"""`audit version`: what runs here."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import typer

from audit_events.schema import SCHEMA_VERSION


def command(ctx: typer.Context) -> None:
    """Print the version, the schema version and the Python it runs on."""
    del ctx
    python = platform.python_version()
    line = f"sandtrail {own_version()} (schema {SCHEMA_VERSION}, Python {python}, {sys.platform})"
    sys.stdout.write(line + "\n")


def own_version() -> str:
    """The installed version of Sandtrail."""
    try:
        return version("sandtrail")
    except PackageNotFoundError:
        return "0 (not installed)"
