"""From a command's words to its question, with a secret among them searched by fingerprint (T9).

The store never holds a secret, so looking for one as it is written would always answer no.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from audit import commands, reads, wiring
from audit.asking import Asked, Question, question
from audit.call import Call
from audit.read_socket import ReadSocket
from audit.reads import Store
from audit.say import Voice
from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from query.runs import names as run_names

_SEARCHED: Final = ("grep", "path", "dst", "target", "secret")
# The redactor takes a third of a second to load, so it is asked only about values that may hold a
# secret: a long word of letters and digits, or a word that announces one. Compiled when first used.
_WORD: Final = r"[A-Za-z0-9_.~+=-]{12,}"
_ANNOUNCED: Final = r"(?i)passw|secret|token|bearer|api.?key|-----BEGIN|://[^/\s]*@"
_MARKED: Final = "[REDACTED"


@dataclass(frozen=True, slots=True)
class Masked:
    """A secret among a question's words: what it is, and the name that is searched instead."""

    kind: str
    fingerprint: str

    @property
    def words(self) -> str:
        """What was done, in a sentence."""
        return (
            f"that is {_article(self.kind)} {self.kind}; the store never holds it, so its"
            f" fingerprint {self.fingerprint} is searched instead"
        )


def ask(call: Call, store: Store, asked: Asked, words: list[str] | None) -> Question:
    """The question of a command; UsageError for words that cannot be understood or searched."""
    sandboxes = lambda: reads.known_sandboxes(store)  # noqa: E731
    found = question(asked, words or (), call.now(), sandboxes)
    _note_several_runs(call, store, found)
    found, masked = without_secrets(call, store, found)
    for secret in masked:
        _tell(call, secret)
    return found


def without_secrets(call: Call, store: Store, asked: Question) -> tuple[Question, list[Masked]]:
    """The question with secrets replaced by their fingerprints; UsageError if that cannot be."""
    masked: list[Masked] = []
    for flag in _SEARCHED:
        for value in asked.values.get(flag, ()):
            if _suspicious(value):
                asked, found = _by_fingerprint(call, asked, flag, value, store)
                masked += found
    return asked, masked


def _note_several_runs(call: Call, store: Store, asked: Question) -> None:
    """The beginning of an id that several runs share is asked as it stands, but not in silence."""
    prefixes = [value for value in asked.values.get("run", ()) if value and value[0] != "!"]
    for prefix in prefixes:
        found = [] if prefix.startswith("last") else reads.runs_by_prefix(store, prefix)
        if len(found) > 1 and found[0].correlation_id != prefix:
            voice = Voice(call.prog, call.environ)
            voice.note(f"--run {prefix} means several runs: {run_names(found)}")


def _suspicious(value: str) -> bool:
    if _MARKED in value:
        return False
    words = re.findall(_WORD, value)
    mixed = any(re.search(r"[0-9]", word) and re.search(r"[A-Za-z]", word) for word in words)
    return bool(mixed or re.search(_ANNOUNCED, value))


def _by_fingerprint(
    call: Call, asked: Question, flag: str, value: str, store: Store
) -> tuple[Question, list[Masked]]:
    from audit.finding import other_names
    from audit.masking import redactor

    plain = value.removeprefix("!")
    column = "path" if flag == "path" else "message"
    findings = redactor(call).findings(plain, column)
    if not findings:
        return asked, []
    kind, fingerprint = findings[0].kind, findings[0].fingerprint
    if fingerprint is None:
        article = _article(kind)
        raise UsageError(
            f"that looks like {article} {kind}; it is masked without a fingerprint and cannot be"
            " searched",
            hint=f"rotate it; to see where any was masked: {call.prog} query --secret {kind}",
        )
    if isinstance(store, ReadSocket):
        raise UsageError(
            f"that looks like {_article(kind)} {kind}; its fingerprint needs the store's key, which"
            " a read socket does not give",
            hint=f"to see where any was masked: {call.prog} query --secret {kind}",
        )
    if len(asked.values[flag]) > 1:
        raise UsageError(f"--{flag} with a secret goes with no other value of --{flag}")
    values = {name: given for name, given in asked.values.items() if name != flag}
    sign = "!" if value.startswith("!") else ""
    # Events masked before the key was changed bear another name of the same secret.
    names = [fingerprint, *other_names(call, kind, findings[0].secret)]
    values["secret"] = (*values.get("secret", ()), *(sign + name for name in names))
    return replace(asked, values=values), [Masked(kind, fingerprint)]


def _tell(call: Call, secret: Masked) -> None:
    voice = Voice(call.prog, call.environ)
    voice.warning(secret.words)
    better = f"; next time: {call.prog} secrets find -" if "secrets" in commands.names() else ""
    voice.note(f"it is now in your shell history{better}")


def _article(kind: str) -> str:
    return "an" if kind[0] in "aeiou" else "a"


def store_and_question(
    call: Call, asked: Asked, words: list[str] | None
) -> tuple[StorePaths, Question]:
    """The store of a call, and its question."""
    store = wiring.find_store(call)
    return store, ask(call, store, asked, words)


def trail_and_question(call: Call, asked: Asked, words: list[str] | None) -> tuple[Store, Question]:
    """As `store_and_question`, through a read socket where that is the way in."""
    store = wiring.find_trail(call)
    return store, ask(call, store, asked, words)
