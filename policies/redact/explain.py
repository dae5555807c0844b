"""Why something is masked: the rule that found it, in words; never the secret itself."""

from dataclasses import dataclass, field

from policies.redact.mask import MAX_TEXT_CHARS, DroppedField, Masker, surest


@dataclass(frozen=True, slots=True)
class Finding:
    """One mask: the rule that names it, the others that saw it too, and how much they cover.

    `fingerprint` is None where the secret could be guessed from it. `secret` is for computing
    other fingerprints only and shows in no text.
    """

    rule: str
    kind: str
    description: str
    others: tuple[str, ...]
    start: int
    end: int
    fingerprint: str | None
    secret: str = field(repr=False)

    @property
    def why(self) -> str:
        """A sentence for a person who wonders about a mask."""
        also = f", also seen by {', '.join(self.others)}" if self.others else ""
        named = f"fingerprint {self.fingerprint}" if self.fingerprint else "no fingerprint"
        return f"{self.rule}: {self.description}; {self.end - self.start} characters, {named}{also}"


def find(masker: Masker, text: str, *, trusted: bool) -> list[Finding]:
    """The findings in a text as stage 1 sees it; none in one over the bound, or dropped."""
    if len(text) > MAX_TEXT_CHARS:
        return []
    found = []
    try:
        groups = masker.groups(text, trusted=trusted)
    except DroppedField:
        return []
    for group in groups:
        named = surest(group)
        others = dict.fromkeys(s.rule.id for s in group if s.rule.id != named.rule.id)
        found.append(
            Finding(
                named.rule.id, named.rule.kind, named.rule.description, tuple(others),
                min(span.start for span in group), max(span.end for span in group),
                masker.fingerprint_of(named), named.secret,
            )
        )  # fmt: skip
    return found
