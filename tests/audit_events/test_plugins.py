"""Plug-ins are found by file name."""

import subprocess
import sys

import pytest

import collector.decoders
from audit_events import plugins


def test_every_plugin_is_named_like_its_file() -> None:
    """Modules that are only parts of a plug-in are not plug-ins."""
    found = plugins.find(collector.decoders, "decoder")
    assert found["native"].name == "native"
    assert "native_json" not in found


def test_one_name_imports_one_module() -> None:
    """Asking for one plug-in does not import the others."""
    code = (
        "import sys, collector.decoders; from audit_events.plugins import load;"
        "load(collector.decoders, 'decoder', 'native');"
        "assert 'collector.decoders.seatbelt' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["nobody", "native_json", "..os"])
def test_an_unknown_name_is_a_key_error(name: str) -> None:
    """Also the name of a part of a plug-in."""
    with pytest.raises(KeyError):
        plugins.load(collector.decoders, "decoder", name)
