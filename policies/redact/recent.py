"""What texts became lately: commands come again by the thousand, secret and all."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Final

from policies.redact.fields import Masked

MOST: Final = 4_096
# A longer text is rarely the same again, and would be kept for nothing.
MAX_CHARS: Final = 4_096


class Recent:
    """Answers known by a keyed digest of the question, so that no secret is kept for it."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        # None: the text stayed as it is.
        self._answers: dict[tuple[str, bool, bytes], Masked | None] = {}

    def masked(self, column: str, text: str, trusted: bool, mask: Callable[[], Masked]) -> Masked:
        """What `mask` makes of the text of this column; asked again only after `MOST` others.

        What failed closed is not kept.
        """
        if len(text) > MAX_CHARS:
            return mask()
        data = text.encode("utf-8", "surrogatepass")
        place = column, trusted, hashlib.blake2b(data, key=self._key, digest_size=16).digest()
        if place in self._answers:
            answer = self._answers[place]
            return Masked(text, Counter()) if answer is None else answer
        made = mask()
        if not made.failed:
            if len(self._answers) >= MOST:
                self._answers.clear()
            self._answers[place] = None if made.text == text else made
        return made
