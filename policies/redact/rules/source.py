"""Secrets in lines of programs: arguments of calls that take a key or a password."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.arguments import is_login_word
from policies.redact.rules.samples import hexa, mix
from policies.redact.standins import placeholder
from policies.redact.values import (
    HEX,
    UUID,
    classes,
    code,
    is_mixed_word,
    is_opaque,
    random_looking,
    slug,
)

_QUOTED: Final = re.compile(
    r"\\{0,3}(?P<q>[\"'`])(?P<secret>(?:(?!(?P=q))[^\n\f\\]){1,512})\\{0,3}(?P=q)"
)
_MAX_CALL_CHARS: Final = 240
# Which account, which algorithm, which address: neighbours of a key that are none.
_NEIGHBOUR: Final = re.compile(
    r"AC[0-9a-f]{32}|AKIA\w+|[a-z]{2,8}[-_]?[0-9]{1,4}(?:[-_][a-z0-9]{2,6}){0,3}|[^@\s]+@[\w.-]+|[a-z]+://.*",
    re.IGNORECASE,
)
_LEAST_KEY: Final = 16
_LEAST_WORD: Final = 10


def _is_key(value: str) -> bool:
    """What only a generator writes: hex, or letters and digits by turns, or with signs."""
    if placeholder(value) or _NEIGHBOUR.fullmatch(value) or UUID.fullmatch(value):
        return False
    if HEX.fullmatch(value):
        return any(c.isdigit() for c in value)
    if slug(value) or " " in value or code(value):
        return False
    if random_looking(value, _LEAST_KEY) and classes(value) > 2:
        return True
    return len(value) >= _LEAST_WORD and is_login_word(value) and classes(value) > 3


def _line(match: re.Match[str]) -> Iterator[re.Match[str]]:
    """The quoted words behind the match, in the same line."""
    stop = match.end() + _MAX_CALL_CHARS
    end = re.compile(r"[\n\f;]").search(match.string, match.end(), stop)
    yield from _QUOTED.finditer(match.string, match.end(), end.start() if end else stop)


def _keys(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The arguments that are keys."""
    for word in _line(match):
        if _is_key(word[SECRET]):
            yield word.span(SECRET)


def _last(match: re.Match[str]) -> bool:
    """The last argument of a call: a password, however plain, but no name of one."""
    value = match[SECRET]
    return is_mixed_word(match) and not re.search(r"://|^[./~]|^[a-z_.]+$", value)


def _is_bytes(match: re.Match[str]) -> bool:
    """No name and no path of a cache."""
    value = match[SECRET]
    return is_mixed_word(match) and ":" not in value and any(c.isdigit() for c in value)


def _is_defined(match: re.Match[str]) -> bool:
    """The value of a constant that a program defines: no path, no word."""
    value = match[SECRET]
    return is_opaque(match) and not re.fullmatch(r"[a-z_.:-]+|[/~].*|https?:.*", value)


# Calls that take a key, whatever else.
_KEY_CALLS: Final = "|".join((
    r"jwt\.(?:sign|verify|encode|decode)", r"\)\.(?:sign|verify)", r"create_?hmac", r"hash_hmac", r"hmac\.hexdigest", r"hmac\.(?:new|digest)",
    r"hmacshakeyfor", r"symmetricsecuritykey", r"secretkeyspec", r"fernet", r"aes\.new", r"create(?:de)?cipher(?:iv)?",
    r"cookieparser", r"cookiesession", r"algoliasearch", r"(?:algolia|search)?client\.create", r"twilio", r"new[ ]stripe", r"keycredential",
    r"tokencredential", r"telegramclient", r"oauthhandler", r"oauth1(?:session)?", r"openssl_(?:en|de)crypt", r"cryptojs\.[a-z0-9]{2,12}(?:\.(?:en|de)crypt)?",
    r"new[ ](?:hmac)?sha[0-9]{0,3}", r"secretbox", r"set_?access_?token", r"with_?(?:api_?key|token|secret)", r"webtoken\.(?:sign|verify)",
    r"new[ ](?:pusher|telegraf|slack|octokit|mistral|resend|mailgun|client)[a-z]{0,10}", r"setapikey|set_api_key|api_key_auth",
))  # fmt: skip

RULES: Final[tuple[Rule, ...]] = (
    Rule("call-key", "secret", "a key as the argument of a call that signs, encrypts or connects",
         rf"(?:{_KEY_CALLS})\(", "", parts=_keys, caseless=True, rank=GUESS,
         hits=(f"jwt.sign({{sub: 1}}, '{mix(32)}')", f"crypto.createHmac('sha256', \"{hexa(32)}\")", f"algoliasearch('XD37CXML4P', '{hexa(32)}')", f"require('jsonwebtoken').sign({{a:1}}, '{mix(32)}')"),
         misses=("jwt.sign(payload, secretOrPrivateKey, {algorithm: 'HS256'})", "jwt.verify(token, process.env.KEY, {algorithms: ['RS256']})", "crypto.createHmac('sha256', key).update('a-b-c-1')", "new Client('https://api.example.com/v1', 'eu-west-1')")),
    Rule("call-password", "password", "the last literal of a call that logs in",
         r"(?:auth[ ]?=[ ]?\((?:[A-Za-z_.]{1,40}, ?)|basic_?auth\([A-Za-z_.\"']{1,40},[ ]?|getconnection\([^()\n]{1,160},[ ]?|(?:new[ ]pdo|mysqli|networkcredential)\([^()\n]{1,160},[ ]?|(?:[a-z)]\.|->)(?:with|set)?_?password\([ ]?|userpwd,[ ]?[\"'][^\"'\n:]{1,64}:)", r"(?<![\"']{2})(?:\\{0,3}(?P<quote>[\"']))?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n\f\\]){4,256}|[^\"'\s()\\,]{4,256}))\\{0,3}[\"']", check=_last, caseless=True, fingerprint=False, rank=GUESS,
         hits=("requests.post(url, auth=(self.user, 'T1gerX!9kk'))", 'DriverManager.getConnection(url, "root", "falcon_483")', "container.withPassword('falcon_483')", 'curl_setopt($ch, CURLOPT_USERPWD, "bob:falcon_483");'),
         misses=("auth=(self.user, self.password)", "x.withPassword('secret')", "b.setPassword(\"$PW\")", "u.password('string')", "getConnection(url, props)", "form.setPassword('pass_word')")),
    Rule("bytes-literal", "secret", "a key written as bytes",
         r"(?:key|secret|salt|password|passphrase|token|pepper)[ ]?(?:\[\][ ]?)?:?=[ ]?(?:\[\]byte\(|bytes?\.fromhex\(|hex\.decodestring\(|unhexlify\(|buffer\.from\(|b64decode\(|base64\.b64decode\(|from_hex\(|hex!?\()b?[\"'`]", r"(?P<secret>[^\"'`\n\f]{6,512})[\"'`]", check=_is_bytes, caseless=True, rank=GUESS,
         hits=(f'signingKey = []byte("{hexa(32)}")', 'var jwtKey = []byte("dragon.383")', f"SECRET = bytes.fromhex('{hexa(64)}')"),
         misses=('key := []byte("user")', 'publicKey = []byte("$X")', "cacheKey = []byte(\"prefix\")")),
    Rule("get-bytes", "secret", "a key of which a program takes the bytes",
         r"(?:key|secret|salt|password|token)[ ]?=[ ]?[\"']", r"(?P<secret>[^\"'\n\f]{8,512})[\"']\.(?:getBytes|encode|toByteArray|as_bytes|bytes|utf8)\b", check=_is_bytes, caseless=True, rank=GUESS,
         hits=('byte[] KEY = "C0l2slCk1h1a23pv".getBytes();', "key = 'C0l2slCk1h1a23pv'.encode()"), misses=("key = 'user_name'.encode()", 'key = "some-plain-key".getBytes()')),
    Rule("defined", "secret", "a constant that a program defines",
         r"define\([ ]?\\{0,3}[\"'](?:[A-Z0-9_]{0,40}_)?(?:PASS|PASSWORD|PASSWD|PW|SECRET|TOKEN|KEY|SALT|SECRET_KEY)\\{0,3}[\"'],", r"[ ]*\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f]){6,512}?)\\{0,3}(?P=quote)[ ]?\)", check=_is_defined, fingerprint=False, rank=GUESS,
         hits=("define( 'DB_PASSWORD', 'winter_3819' );", "define('AUTH_KEY', 'pO^x 8-q{k;Vg9!c');"), misses=("define('DB_PASSWORD', 'password_here');", "define('DB_PASSWORD', getenv('X'));", "define('CACHE_KEY', 'prefix');", "define('AUTH_KEY', 'put your unique phrase here');")),
)  # fmt: skip
