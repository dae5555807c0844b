"""`audit redact`: the store's own redactor as a filter for a pipe."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from audit import wiring
from audit.call import Call
from audit_events.errors import UsageError
from audit_events.schema import MAX_LINE_BYTES
from audit_events.text import from_bytes, to_bytes

if TYPE_CHECKING:
    from policies.redact.engine import Redactor

_MASKED_LINE: Final = "[REDACTED:line-too-long]"
# A value nested deeper is masked whole: nobody's log needs it, and the parser has limits too.
MAX_DEPTH: Final = 64


def redactor(call: Call, more_packs: Sequence[str] = ()) -> "Redactor":
    """With the store's key if there is one, so that fingerprints agree (else one for now), and with
    the packs of the settings and some more."""
    from audit.keys import load_or_create
    from audit.packs import load_packs
    from policies.redact import default_redactor
    from policies.redact.fingerprint import KEY_BYTES, FingerprintKey

    settings = wiring.load_settings(call).settings
    pack = load_packs((*settings.redaction.packs, *more_packs))
    store = wiring.existing_store(call)
    if store is None:
        return default_redactor(FingerprintKey(secrets.token_bytes(KEY_BYTES)), pack)
    keys = wiring.key_dir(settings.keys)
    return default_redactor(load_or_create(keys, wiring.store_id(store)), pack)


class Masks(Protocol):
    """What masks one text."""

    def redact_text(
        self, text: str, column: str = "message", *, trusted: bool = True
    ) -> tuple[str, Counter[str]]:
        """The text without its secrets, and how often each kind was masked."""
        ...


class Explained:
    """A redactor that says for each line which rule masked what, and why."""

    def __init__(self, masker: "Redactor", say: Callable[[str], None]) -> None:
        self._masker = masker
        self._say = say
        self._number = 0
        self._whys: dict[str, None] = {}

    def redact_text(
        self, text: str, column: str = "message", *, trusted: bool = True
    ) -> tuple[str, Counter[str]]:
        """As the redactor's own."""
        masked, kinds = self._masker.redact_text(text, column, trusted=trusted)
        if kinds:
            found = self._masker.findings(text, column, trusted=trusted)
            # A field that failed closed has no finding.
            whys = [finding.why for finding in found] or [f"the whole field: {', '.join(kinds)}"]
            self._whys.update(dict.fromkeys(whys))
        return masked, kinds

    def line_done(self) -> None:
        """Say what was masked since the last line."""
        self._number += 1
        for why in self._whys:
            self._say(f"line {self._number}: {why}")
        self._whys.clear()


def masked_lines(lines: Iterable[bytes], masker: Masks, field: str | None) -> Iterator[bytes]:
    """Each line without its secrets: a JSON object's texts (or one field of it), else the line."""
    for number, line in enumerate(lines, 1):
        body = line.rstrip(b"\r\n")
        end = line[len(body) :]
        if len(body) > MAX_LINE_BYTES:
            yield _MASKED_LINE.encode() + end
            continue
        record = _object(body)
        if record is not None:
            masked = _masked_object(record, masker, field)
            yield (
                json.dumps(masked, ensure_ascii=False, separators=(",", ":")).encode(
                    errors="surrogatepass"
                )
                + end
            )
        elif field is not None and body.strip():
            raise UsageError(f"line {number} is no JSON object, so it has no field {field}")
        else:
            yield to_bytes(masker.redact_text(from_bytes(body), "message")[0]) + end


def _object(body: bytes) -> dict[str, Any] | None:
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _masked_object(record: dict[str, Any], masker: Masks, field: str | None) -> Any:
    if field is None:
        return _masked(record, masker, "message", 0)
    if isinstance(value := record.get(field), str):
        return {**record, field: masker.redact_text(value, _shape(field))[0]}
    return record


def _shape(field: str) -> str:
    """Which of the event's columns a field is like; other names are free text."""
    return field if field in ("path", "path_to", "command", "extra") else "message"


def _masked(value: Any, masker: Masks, name: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return "[REDACTED:too-deep]"
    if isinstance(value, str):
        return masker.redact_text(value, _shape(name))[0]
    if isinstance(value, list):
        return [_masked(item, masker, name, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: _masked_pair(key, item, masker, depth) for key, item in value.items()}
    return value


def _masked_pair(key: str, value: Any, masker: Masks, depth: int) -> Any:
    """A value under a telling key is masked as `key=value` would be."""
    if isinstance(value, str) and value:
        whole = masker.redact_text(f"{key}={value}", "message")[0]
        if whole.startswith(f"{key}=") and whole != f"{key}={value}":
            return whole[len(key) + 1 :]
    return _masked(value, masker, key, depth + 1)
