"""docs/decoders.md says what the decoders do today."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_its_script_writes() -> None:
    """`python bench/decoder_page.py` would change nothing."""
    spec = importlib.util.spec_from_file_location("decoder_page", ROOT / "bench/decoder_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "decoders.md").read_text() == module.page()
