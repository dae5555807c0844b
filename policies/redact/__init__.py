"""Mask secrets before anything is written: the only door from a batch to the spool."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policies.redact.engine import Redactor
    from policies.redact.fingerprint import FingerprintKey
    from policies.redact.packs import Pack


def default_redactor(key: "FingerprintKey", pack: "Pack | None" = None) -> "Redactor":
    """The redactor with all our rules and a user's pack; slow but equal without the engine.

    Raises SelfTestError if the engine is there but loses matches: then nothing may be written.
    """
    from policies.redact.engine import Redactor
    from policies.redact.rules import ALL_RULES
    from policies.redact.scan import engine_available

    if pack is None:
        return Redactor(ALL_RULES, key, engine=engine_available())
    return Redactor(
        (*pack.rules, *ALL_RULES), key,
        engine=engine_available(), keeps=pack.keeps, drops=pack.drops,
    )  # fmt: skip
