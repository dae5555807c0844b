"""`audit config`: each setting's value, and where it comes from."""

import json as jsonlib
from collections.abc import Iterator
from typing import Any

import typer

from audit import screen as output
from audit import wiring


def command(ctx: typer.Context) -> None:
    """Print every setting with its value and its origin; errors name file, line and column."""
    import msgspec

    loaded = wiring.load_settings(ctx.obj)
    place = wiring.store_place(ctx.obj)
    rows = [("store", str(place.path), place.origin)]
    for name, value in _flat(msgspec.to_builtins(loaded.settings)):
        if name != "store":
            shown = "-" if value is None else jsonlib.dumps(value)
            rows.append((name, shown, loaded.origins.get(name, "default")))
    wide, values = (max(len(row[n]) for row in rows) for n in (0, 1))
    output.put(f"{name:<{wide}}  {value:<{values}}  {origin}" for name, value, origin in rows)


def _flat(values: dict[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{under}{key}.")
        else:
            yield f"{under}{key}", value
