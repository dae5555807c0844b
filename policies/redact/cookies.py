"""Which of the pairs in a cookie header open a session."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import random_looking
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import SECRET

_COOKIE: Final = re.compile(r"([^\s;=]{1,128})[ ]?=[ ]?((?:(?![ ]for[ ])[^;]){1,4096})")
_COOKIE_SETTINGS: Final = frozenset(
    ("path", "domain", "expires", "max-age", "samesite", "priority", "version")
)
# Cookies that count visitors, remember a choice or a bucket.
_HARMLESS: Final = re.compile(
    r"(?i)_ga\w*|_gid|_gcl_\w+|_fb[pc]|__utm\w|_hj\w*|ajs_\w+|amp(?:litude)?_\w+|mp_\w+|intercom-(?:id|device)\S*"
    r"|optimizely\w*|_pk_\w+|consent|optanon\w+|euconsent\S*|cookie_?consent\w*|nid|_uet\w+|_clck|_clsk|_pin_\w+"
    r"|_tt\w+|li_\w+|bcookie|visitor_?id\w*|guest_id|theme|lang|locale|tz|ab_\w+|split\w*|__stripe_[ms]id|_dd_s"
)
_SESSION_NAME: Final = re.compile(
    r"(?i)sess|sid\b|token|auth|jwt|login|remember|secret|xsrf|csrf|passw"
)


# `ERLANG_COOKIE=X NAME=y`: one value, which ends at the blank.
_VARIABLE: Final = re.compile(r"[A-Z_]_(?i:cookies?)=\Z")


def cookie_values(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The values that open a session, by their name or because a generator wrote them."""
    base = match.start(SECRET)
    if _VARIABLE.search(match.string[max(0, base - 16) : base]):
        return
    for pair in _COOKIE.finditer(match[SECRET]):
        name, value = pair[1], pair[2]
        if (
            name.lower() in _COOKIE_SETTINGS
            or _HARMLESS.fullmatch(name)
            or value.isdigit()
            or placeholder(value)
        ):
            continue
        if (_SESSION_NAME.search(name) and len(value) >= 8) or random_looking(value, 20):
            yield base + pair.start(2), base + pair.end(2)
