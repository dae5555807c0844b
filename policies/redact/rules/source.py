"""Secrets in lines of programs: literals in calls that sign or log in, defaults, fields of forms."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.harmless.words import PROSE
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.arguments import is_login_word
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_mixed_word, is_opaque

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


# What a shell, a composer of containers or a framework takes where a variable is not set.
_SHELL_DEFAULT: Final = re.compile(
    r"(?:\\{0,3}(?P<q>[\"'])(?P<quoted>(?:(?!(?P=q))[^\n\f\\]){3,512})\\{0,3}(?P=q)"
    r"|(?P<bare>[^\s\"'`}\f\\$][^\s\"'`}\f\\]{2,511}))\\{0,3}[\"']?\}"
)
_BEFORE_DEFAULT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]{1,64})(?:\\{0,3}[\"']?[ \t]{0,4}(?:[:=]|=>)[ \t]{0,4}\\{0,3}[\"']?|[ ]|:?[-=]|=\f)\Z"
)
_SAYS_PASSWORD: Final = re.compile(
    r"(?i)pass(?:w(?:or)?d|phrase|code|wort)?(?:[_.-]|\Z)|(?:^|[^a-z])(?:pwd?|psk)\Z|pwd|pass\Z"
)
_SAYS_KEY: Final = re.compile(
    r"(?i)token|secret|[-_.]?key\Z|credential|[-_.](?:auth|pat|jwt|salt)\Z"
)
# `${DB_PASS:x}` and `${db.password:x}`; `${file:…}` and `${ssm:…}` say where to look.
_FRAMEWORK_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]+|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_SLICE: Final = re.compile(r"-?[0-9]*(?::-?[0-9]+)?|[+?/@^,#%:].*")
_LEAST_NAMED_KEY: Final = 6


def _is_default(value: str, name: str) -> bool:
    if not names_a_secret(name) or placeholder(value) or code(value) or _SLICE.fullmatch(value):
        return False
    if re.match(r"[a-z][a-z0-9+.-]*://", value) or value.lower() in PROSE:
        return False
    if _SAYS_PASSWORD.search(name):
        return True
    if not _SAYS_KEY.search(name) or len(value) < _LEAST_NAMED_KEY or slug(value):
        return bool(_SAYS_KEY.search(name) and HEX.fullmatch(value))
    return any(c.isdigit() for c in value) or is_login_word(value)


# The last word that a program says before it falls back on a literal.
_FALLBACK_NAMES: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$:-]*")
# A template's braces are no block's, nor are those of a block that is a default.
_STATEMENT: Final = re.compile(r"[;\n\f]|(?<![{)])\{(?!\{)")
_FALLBACK_CHARS: Final = 160
_ENVIRONMENT: Final = re.compile(r"(?i)env")


def _is_fallback(match: re.Match[str]) -> bool:
    """`os.getenv("DB_PASSWORD") or "hunter2"`: what a name that means a password is otherwise."""
    start, value = match.start(SECRET), match[SECRET]
    before = match.string[max(0, start - _FALLBACK_CHARS) : start]
    said = _STATEMENT.split(before)[-1]
    # A sentence has "or" in it too, and assigns nothing.
    if not re.search(r"[=(\[:?|]", said):
        return False
    names = [name.rstrip(":.-") for name in _FALLBACK_NAMES.findall(said)]
    if any(_PASSWORD_LABEL.search(name) for name in names):
        return False
    if not _ENVIRONMENT.search(before) and not is_mixed_word(match):
        return False
    return any(_is_default(value, name) for name in names)


_PASSWORD_LABEL: Final = re.compile(
    r"(?i)label|title|message|placeholder|hint|text|type|error|prompt"
)


def _shell_defaults(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The default of a variable that means a secret, by its own name or what it is given to."""
    found = _SHELL_DEFAULT.match(match.string, match.end())
    if found is None:
        return
    own, sign = match["name"], match["sign"]
    if sign == ":" and not _FRAMEWORK_NAME.fullmatch(own):
        return
    given = _BEFORE_DEFAULT.search(match.string[max(0, match.start() - 96) : match.start()])
    group = "quoted" if found["q"] else "bare"
    names = (own, given["name"] if given else "")
    # `PASSWORD_FILE=${X:-/run/x}`: both names must allow it, and one say so.
    if any(_is_default(found[group], name) for name in names) and names_a_secret(names[1]):
        yield found.span(group)


_TAG_CHARS: Final = 1_500
_ATTRIBUTE: Final = re.compile(
    r"(?:[\s/\"';]|\\{1,2}[nrt])(?P<name>type|value)\s{0,4}=\s{0,4}"
    r"(?:(?P<q>\\{0,3}[\"']|&(?:quot|\#3[49]);)(?P<quoted>(?:(?!(?P=q))[^\n\f]){0,512})(?P=q)"
    r"|(?P<bare>[^\s\"'<>=`&\f\\]{1,512}))",
    re.IGNORECASE,
)
_TAG_END: Final = re.compile(r"(?:<|&lt;)(?:input|/)", re.IGNORECASE)
_VIEW: Final = re.compile(r"@[A-Za-z(].*|\{.*\}|<.*")


def _typed_in(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What a field for a password is filled with."""
    text, start = match.string, match.end() - 1
    end = _TAG_END.search(text, start, start + _TAG_CHARS)
    stop = end.start() if end else start + _TAG_CHARS
    values, is_password_field, at = [], False, start
    while found := _ATTRIBUTE.search(text, at, stop):
        # Behind the end of this element another one begins.
        if re.search(r"(?<![=?%-])>", text[at : found.start()]):
            break
        group, at = "quoted" if found["q"] else "bare", found.end() - 1
        if found["name"].lower() == "type":
            is_password_field = found[group].lower() == "password"
        else:
            values.append((found[group], found.span(group)))
    for value, span in values if is_password_field else ():
        if len(value) >= _LEAST_TYPED and not placeholder(value) and not _VIEW.fullmatch(value):
            yield span


_LEAST_TYPED: Final = 3


def _is_composed(match: re.Match[str]) -> bool:
    """The literal that is put behind the scheme; `"{token}"` is none."""
    return is_opaque(match) and not re.match(r"[{%]", match[SECRET])


# Calls that take a key, whatever else.
_KEY_CALLS: Final = "|".join((
    r"jwt\.(?:sign|verify|encode|decode)", r"\)\.(?:sign|verify)", r"create_?hmac", r"hash_hmac", r"hmac\.hexdigest", r"hmac\.(?:new|digest)",
    r"hmacshakeyfor", r"symmetricsecuritykey", r"secretkeyspec", r"fernet", r"aes\.new", r"create(?:de)?cipher(?:iv)?",
    r"cookieparser", r"cookiesession", r"algoliasearch", r"(?:algolia|search)?client\.create", r"twilio", r"new[ ]stripe", r"keycredential",
    r"tokencredential", r"telegramclient", r"oauthhandler", r"oauth1(?:session)?", r"openssl_(?:en|de)crypt", r"cryptojs\.[a-z0-9]{2,12}(?:\.(?:en|de)crypt)?",
    r"new[ ](?:hmac)?sha[0-9]{0,3}", r"secretbox", r"set_?access_?token", r"with_?(?:api_?key|token|secret)", r"webtoken\.(?:sign|verify)",
    r"new[ ](?:pusher|telegraf|slack|octokit|mistral|resend|mailgun|client)[a-z]{0,10}", r"\.(?:async_?)?client(?:v[0-9])?", r"setapikey|set_api_key|api_key_auth",
))  # fmt: skip


def _is_encoded(match: re.Match[str]) -> bool:
    """A word with a digit or a sign in it that is no template."""
    value = match[SECRET]
    if re.search(r"[{}]|%s|\$", value) or placeholder(value):
        return False
    return bool(re.search(r"[0-9!#%^*~?&+]", value)) and is_mixed_word(match)


RULES: Final[tuple[Rule, ...]] = (
    Rule("code-credentials", "password", "user and password as arguments in a program",
         r"(?:auth[ ]?=[ ]?\(|HTTPBasicAuth\(|(?:PDO|PDO->__construct|mysqli|mysqli?_connect|getConnection|pymysql\.connect|newInstance)\([ ]?\\{0,2}[\"'][^\"'\n]{0,200}[\"'],[ ]?)\\{0,2}[\"'][^\"'\n]{0,64}[\"'],[ ]?\\{0,2}[\"']", r"(?P<secret>[^\"'\n\\]{3,256})", check=is_opaque, fingerprint=False,
         hits=("requests.get('https://x', auth=('bob', 't4bl3!Row'))", "new PDO('mysql:host=db','app','t4bl3!Row');"), misses=("auth=('bob', '$PW')",)),
    Rule("call-key", "secret", "a key as the argument of a call that signs, encrypts or connects",
         rf"(?:{_KEY_CALLS})\(", "", parts=_keys, caseless=True, rank=GUESS,
         hits=(f"jwt.sign({{sub: 1}}, '{mix(32)}')", f"crypto.createHmac('sha256', \"{hexa(32)}\")", f"algoliasearch('XD37CXML4P', '{hexa(32)}')", f"require('jsonwebtoken').sign({{a:1}}, '{mix(32)}')"),
         misses=("jwt.sign(payload, secretOrPrivateKey, {algorithm: 'HS256'})", "jwt.verify(token, process.env.KEY, {algorithms: ['RS256']})", "crypto.createHmac('sha256', key).update('a-b-c-1')", "new Client('https://api.example.com/v1', 'eu-west-1')")),
    Rule("call-password", "password", "the last literal of a call that logs in",
         r"(?:auth[ ]?=[ ]?\((?:[A-Za-z_.]{1,40}, ?)|basic_?auth\([A-Za-z_.\"']{1,40},[ ]?|getconnection\([^()\n]{1,160},[ ]?|(?:new[ ]pdo|mysqli|networkcredential)\([^()\n]{1,160},[ ]?|(?:[a-z)]\.|->)(?:with|set)?_?password\([ ]?|userpwd,[ ]?[\"'][^\"'\n:]{1,64}:)", r"(?<![\"']{2})(?:\\{0,3}(?P<quote>[\"']))?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n\f\\]){4,256}|[^\"'\s()\\,]{4,256}))\\{0,3}[\"']", check=_last, caseless=True, fingerprint=False, rank=GUESS,
         hits=("requests.post(url, auth=(self.user, 'T1gerX!9kk'))", 'DriverManager.getConnection(url, "root", "falcon_483")', "container.withPassword('falcon_483')", 'curl_setopt($ch, CURLOPT_USERPWD, "bob:falcon_483");'),
         misses=("auth=(self.user, self.password)", "x.withPassword('secret')", "b.setPassword(\"$PW\")", "u.password('string')", "getConnection(url, props)", "form.setPassword('pass_word')")),
    Rule("shell-default", "secret", "what a variable that means a secret is where it is not set",
         r"\$\{\??(?P<name>[A-Za-z_][A-Za-z0-9_.]{0,64})(?P<sign>:?[-=]|:)", "", parts=_shell_defaults, fingerprint=False, rank=GUESS, wide=r"\$\{\??[A-Za-z_][A-Za-z0-9_.]*[:=-]",
         hits=("DB_PASSWORD=${DB_PASSWORD:-hunter2}", "password: ${DB_PASS:falcon_84}", f'JWT_SECRET="${{JWT_SECRET:-{hexa(32)}}}"'),
         misses=("DB_PASSWORD=${DB_PASSWORD:-}", "DB_PASSWORD=${DB_PASSWORD:-$OTHER}", "DB_PASSWORD=${DB_PASSWORD:-changeme}", "PASSWORD_FILE=${PASSWORD_FILE:-/run/secrets/pw}", "password: ${file:secrets.yml:pw}", "${PASSWORD:0:3}", "SECRET_NAME=${SECRET_NAME:-db-creds-17}")),
    Rule("code-default", "secret", "the literal that a program falls back on",
         r"(?:\?\?|\|\||\?:|[ )\]]or|or_?else\(|unwrap_or\(|(?:env|environ\.get|fetch|getproperty)\([ ]?\\{0,3}[\"'][A-Za-z0-9_.:-]{1,64}\\{0,3}[\"'],|fetch\([^\n\f(){}]{1,64}\)[ ]?\{|\|[ ]?default[ (])[ ]?", r"\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\s\f\\]){4,512})\\{0,3}(?P=quote)", check=_is_fallback, caseless=True, fingerprint=False, rank=GUESS,
         hits=("password = process.env.DB_PASSWORD || 'falcon_84'", 'DB_PASSWORD = os.getenv("DB_PASSWORD", "falcon_84")', 'let password = try keychain.read(service: "x") ?? "falcon_84"'),
         misses=("token.type || 'bearer'", 'os.getenv("DB_PASSWORD", "")', "passwordLabel ?? 'Passwort12'", 'os.getenv("TOKEN_URL", "https://x.example/1")', "password || 'required'", 'Pass a token or "DefaultValue9" by name')),
    Rule("html-input", "password", "what a field for a password is filled with",
         r"(?:<|&lt;)input(?:[\s/]|\\{1,2}[nrt])", "", parts=_typed_in, caseless=True, fingerprint=False,
         hits=('<input type="password" name="pw" value="T1gerX9">', "<input value='falcon_84' class=a type='password'/>"), misses=('<input type="password" value="{{ pw }}">', '<input type="password"><input type="text" value="falcon_84">', '<input type="password" value="@Model.Pw1">')),
    Rule("composed-header", "authorization", "a scheme and its token, put together by a program",
         r"(?:bearer|token|basic|bot|api-?key)[ ](?:(?:\{[a-z0-9:!]{0,12}\}|%[svq@])\\{0,3}[\"'](?:,|[ ]?%|\.format\()|\\{0,3}[\"'][ ]?(?:\+|\.|&|<>|\|\|))", r"[ ]?\(?&?\\{0,3}(?P<quote>[\"'`])(?P<secret>(?:(?!(?P=quote))[^\s\f\\]){8,4096})\\{0,3}(?P=quote)", check=_is_composed, caseless=True,
         hits=(f'{{"Authorization": format!("Bearer {{}}", "{mix(30)}")}}', f"{{'Authorization': 'token ' + '{mix(30)}'}}", f'h["Authorization"] = "Bearer %s" % "{mix(30)}"'), misses=('format!("Bearer {}", token)', 'format!("Bearer {}", "{token}")', '"Bearer " + "$TOKEN"')),
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
    Rule("encoded-login", "password", "user and password on their way into base64",
         r"(?:tobase64string\([^\"'\n]{0,80}|btoa\(|b64encode\(|base64_?encode\(|base64::encode\(|encode64\(|encodetostring\((?:\[\]byte\()?|buffer\.from\(|new[ ]buffer\()b?[\"'`][A-Za-z0-9_.@+-]{0,64}:", r"(?P<secret>[^\s\"'`:/\f\\]{5,512})[\"'`]", check=_is_encoded, caseless=True, fingerprint=False, rank=GUESS,
         hits=('[Convert]::ToBase64String([Text.Encoding]::ASCII.GetBytes(":falcon84xq"))', "btoa('bob:falcon_84')", 'Buffer.from("bob:falcon_84").toString("base64")'),
         misses=("btoa('hello:world')", 'GetBytes(":$pat")', "btoa(`${user}:${password}`)", 'Buffer.from("data:image/png")', "b64encode(b'%s:%s' % x)")),
)  # fmt: skip
