"""Mask secrets before anything is written: the only door from a batch to the spool."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policies.redact.engine import Redactor
    from policies.redact.fingerprint import FingerprintKey


def default_redactor(key: "FingerprintKey") -> "Redactor":
    """The redactor with all our rules; slow but equal where the matching engine is missing.

    Raises SelfTestError if the engine is there but loses matches: then nothing may be written.
    """
    from policies.redact.engine import Redactor
    from policies.redact.rules import ALL_RULES
    from policies.redact.scan import engine_available

    return Redactor(ALL_RULES, key, engine=engine_available())
