"""The version of Sandtrail, for the wheel and for whoever must not wait for package metadata."""

from typing import Final

VERSION: Final = "0.1.0"
