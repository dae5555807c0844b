"""Made-up characters for examples: no string in the repository is a token as a whole."""

from typing import Final

_MIX: Final = "k9Xv2mQ7nBc4pLz8sDf1gHj6tRw3yUe5iOaPqVxZ0bNmKlJhGfDsAzXcVbNm1Qw2Er3Ty4Ui5Op"
_HEX: Final = "3fa94c1d22b07e5886af10c9d4b1e27730f5c6829a4de1b85c07f39264adbe15"
_UPPER: Final = "Q7K2M9X4V1B8N3C6Z5L0PDFGHJTRWYUEIOAS2Q4W6E8R1T3Y5U7I9O0"


def mix(size: int) -> str:
    """Letters of both cases and digits."""
    return (_MIX * (size // len(_MIX) + 1))[:size]


def hexa(size: int) -> str:
    """Lower-case hex digits."""
    return (_HEX * (size // len(_HEX) + 1))[:size]


def upper(size: int) -> str:
    """Capitals and digits."""
    return (_UPPER * (size // len(_UPPER) + 1))[:size]


def digits(size: int) -> str:
    """Decimal digits."""
    return ("8301942765" * (size // 10 + 1))[:size]


def uuid() -> str:
    """A UUID."""
    return "3fa94c1d-22b0-4e58-86af-10c9d4b1e277"
