"""`audit version`: what runs here."""

import platform
import sys

import typer

from audit_events.schema import SCHEMA_VERSION
from audit_events.version import VERSION


def command(ctx: typer.Context) -> None:
    """Print the version, the schema version and the Python it runs on."""
    del ctx
    python = platform.python_version()
    line = f"sandtrail {VERSION} (schema {SCHEMA_VERSION}, Python {python}, {sys.platform})"
    sys.stdout.write(line + "\n")
