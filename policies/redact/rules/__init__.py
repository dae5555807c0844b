"""The table of rules: one row a kind of secret, surest first."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from policies.redact.rule import Rule
from policies.redact.rules import (
    addresses,
    arguments,
    columns,
    commands,
    files,
    hashes,
    more_providers,
    named,
    own_shapes,
    pem,
    printed,
    prompts,
    protocols,
    providers,
    sentences,
    source,
    tables,
    tools,
)

# Where two rules of one rank find the same characters, the first one names the mask.
ALL_RULES: Final[tuple[Rule, ...]] = (
    *providers.RULES, *more_providers.RULES, *own_shapes.RULES, *pem.RULES, *hashes.RULES, *named.RULES,
    *addresses.RULES, *sentences.PROSE, *tools.RULES, *protocols.RULES, *prompts.RULES, *commands.RULES,
    *printed.RULES, *arguments.RULES, *files.RULES, *source.RULES, *sentences.TOLD, *tables.RULES,
    *columns.RULES,
)  # fmt: skip


def rules_digest(rules: Sequence[Rule], exceptions: object = ((), ())) -> str:
    """16 hex digits that change with any rule or exception that could change an answer."""
    digest = sha256()
    if exceptions != ((), ()):
        digest.update(repr(exceptions).encode() + b"\n")
    for rule in rules:
        check = rule.check.__name__ if rule.check else ""
        parts = rule.parts.__name__ if rule.parts else ""
        fields = (rule.id, rule.kind, rule.proof, rule.rest, check, parts,
                  rule.caseless, rule.fingerprint, rule.rank, rule.user, rule.drops_field)  # fmt: skip
        digest.update(repr(fields).encode() + b"\n")
    return digest.hexdigest()[:16]
