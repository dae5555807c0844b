"""Plug-ins found by file name: one module, one name, no list to edit."""

import importlib
import pkgutil
from types import ModuleType


def find(package: ModuleType, attribute: str) -> dict[str, object]:
    """Every module of `package` that defines `attribute`, by file name in order; imports them all.

    Modules without the attribute are parts of a plug-in and left out; so are names with a leading
    underscore and sub-packages.
    """
    found: dict[str, object] = {}
    for name in _names(package):
        plugin = getattr(importlib.import_module(f"{package.__name__}.{name}"), attribute, None)
        if plugin is not None:
            found[name] = plugin
    return found


def load(package: ModuleType, attribute: str, name: str) -> object:
    """The plug-in `name` (dashes count as underscores), importing only its module; or KeyError."""
    module = name.replace("-", "_")
    if module not in _names(package):
        raise KeyError(name)
    plugin = getattr(importlib.import_module(f"{package.__name__}.{module}"), attribute, None)
    if plugin is None:
        raise KeyError(name)
    return plugin


def _names(package: ModuleType) -> list[str]:
    return sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not module.ispkg and not module.name.startswith("_")
    )
