"""Secrets among the arguments of a call or a statement: beside a name, a user, a column, a type."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import classes, slug
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.checks import is_pair_value
from policies.redact.rules.grammar import ANY_NAME, PASSWORD_WORDS, SCHEME, TOKEN_WORDS
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_mixed_word

_QUOTED: Final = re.compile(
    r"\\{0,3}(?P<q>[\"'])(?P<secret>(?:(?!(?P=q))[^\n\f\\]){0,256})\\{0,3}(?P=q)"
)
_CALL_END: Final = re.compile(r"[)\n\f]")
_MAX_CALL_CHARS: Final = 320
_LEAST: Final = 5
# Addresses, files, names with dots, mail: what else such calls take.
_OTHER: Final = re.compile(
    r"(?i)[a-z0-9+.-]+://.*|[\w-]+(?:\.[\w-]+)+(?::[0-9]+)?|[^@\s]+@[\w.-]+\.[a-z]+|(?:jdbc|mysql|pgsql|dbi|sqlite|oci|odbc):.*|.*[=;].*;.*|[0-9.:]+"
)


def is_login_word(value: str) -> bool:
    """What is given beside a user: mixed as no name is."""
    if len(value) < _LEAST or any(c.isspace() for c in value) or placeholder(value):
        return False
    if _OTHER.fullmatch(value) and classes(value) < 4:
        return False
    letters, others = any(c.isalpha() for c in value), any(not c.isalpha() for c in value)
    return letters and others and not slug(value)


def _arguments(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The quoted arguments behind the first that look like a password, up to the end of the call:
    the first bracket outside of quotes, or the end of the line."""
    text, at, first = match.string, match.end("call"), True
    for argument in _QUOTED.finditer(text, at, at + _MAX_CALL_CHARS):
        if _CALL_END.search(text, at, argument.start()):
            return
        if not first and is_login_word(argument[SECRET]):
            yield argument.span(SECRET)
        at, first = argument.end(), False


_COLUMN: Final = re.compile(r"(?i)pass|pwd|secret|token|api_?key|_key|credential")
_CELL: Final = re.compile(
    r"[NnEe]?'((?:[^'\n]|'')*)'|\"([^\"\n]*)\"|\((?:[^()]*)\)|[^,()'\"]+(?:\([^()]*\))?"
)


def _cells(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The values that go into columns whose names mean a secret."""
    columns = [name.strip(' `"[]') for name in match["columns"].split(",")]
    row, at, number = match.string[: match.end() + _MAX_CALL_CHARS], match.end(), 0
    while cell := _CELL.match(row, at):
        group = 1 if cell[1] is not None else 2
        wanted = number < len(columns) and _COLUMN.search(columns[number])
        value = cell[group] or ""
        if wanted and len(value) >= _LEAST and not placeholder(value):
            yield cell.span(group)
        number, at = number + 1, cell.end()
        sign = re.compile(r"\s*,\s*").match(row, at)
        if sign is None:
            return
        at = sign.end()


_FIELD = r"(?:pass(?:word|code|phrase|wd)?|pwd|secret|token|otp|passwort|contrase)"
_TYPES = r"(?:fill|type|typetext|send_?keys|set_?value|enter_?text|input_text|press_?sequentially|fill_?field|fill_in|clear_and_type)"
_TYPED = r"[ ]?\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){4,512})"

RULES: Final[tuple[Rule, ...]] = (
    Rule("argument-pair", "secret", "a name and its value as two arguments of a call",
         rf"[(,\[{{][ ]?(?:<<)?[bBuU]?\\{{0,3}}[\"'](?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}|authorization|_pass)[A-Za-z0-9_]{{0,12}})\\{{0,3}}[\"'](?:>>)?[ ]?,[ ]?", rf"(?:<<)?[NnbBrRuU@]?\\{{0,3}}(?P<quote>[\"'])(?:{SCHEME}[ ])?" r"(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){6,4096})", check=is_pair_value, caseless=True, rank=GUESS,
         wide=rf"[(,\[{{][ ]?(?:<<)?[bu]?\\{{0,3}}[\"']{ANY_NAME}\\{{0,3}}[\"'](?:>>)?[ ]?,",
         hits=("define('DB_PASSWORD', 'T1gerX!9kk');", f'os.environ.setdefault("API_TOKEN", "{mix(30)}")', f"req.setHeader('X-Auth-Token', '{mix(24)}')", f"[(b'api-key', b'{hexa(32)}')]", f'[{{<<"x-api-key">>, <<"{mix(32)}">>}}]'),
         misses=("[(b'api-key', b'[secure]')]", "f('password', 'required')", "choice('token', 'refresh_token')", "t('reset_password', 'Reset your password')", 'getenv("TOKEN", "")')),
    Rule("setter-call", "secret", "the argument of a function that takes a secret",
         rf"(?P<key>[A-Za-z0-9_]{{0,40}}(?:{PASSWORD_WORDS}|secret|token|api_?key))[({{][ ]?", r"[NnbBrR@]?\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){6,4096})", check=is_pair_value, caseless=True, rank=GUESS,
         hits=("u.set_password('T1gerX!9kk')", "SET PASSWORD = PASSWORD('T1gerX!9kk');"), misses=("getToken('refresh')", "get_secret('prod/db-1')", "t.token('abc')")),
    Rule("call-login", "password", "user and password as arguments of a call",
         r"(?P<call>(?:login|authenticate|auth|basic_?auth|credentials?|connect|connection|newinstance|plainauth|simple_bind|simple_bind_s|sign_?in|logon|__construct|basic|passwordauthentication|usernamepassword[a-z]{0,20}|networkcredential|createuser|create_user|open|begin)[\"']?\([\[{ ]{0,3})[^()\n]{0,200}[\"'],[ ]?\\{0,2}[\"']", "", parts=_arguments, caseless=True, fingerprint=False, rank=GUESS,
         hits=("smtp.login('bob', 'T1gerX9kk')", 'req.SetBasicAuth("bob", "T1gerX9kk")', "Sql.newInstance('jdbc:mysql://h/d', 'bob', 'T1gerX9kk', 'com.x.Driver')", "auth([ 'bob', 'T1gerX9kk' ])", "PDO->__construct('mysql:host=db;d...', 'bob', 'T1gerX!9kk')"),
         misses=("connect('localhost', 'guest')", "login('user', getpass())", "open('a1.txt', 'rb')", "connect('db.example.com', 'app-2')", "auth('GET', '/v1/x')")),
    Rule("redis-quoted", "password", "what a monitor of Redis saw",
         r"[\"']AUTH[\"'](?P<sign>[ ,\f]{1,3})[\"']", r"(?:[^\"'\n\f]{1,64}[\"'](?P=sign)[\"'])?(?P<secret>[^\"'\n\f]{4,512})[\"']", check=is_mixed_word, caseless=True, fingerprint=False,
         hits=('[0 10.0.0.1:5312] "AUTH" "default" "T1gerX9kk"', '"auth" "T1gerX9kk"'), misses=('"AUTH" "required"',)),
    Rule("sql-insert", "secret", "a value for a column whose name means a secret",
         r"insert[ ](?:or[ ][a-z]{1,10}[ ])?into[ ][^\n;(]{1,120}\((?P<columns>[^\n;()]{0,300}(?:pass|pwd|secret|token|api_?key|_key|credential)[^\n;()]{0,300})\)[ \n]{1,4}values[ ]?\([ ]?", "", parts=_cells, caseless=True,
         wide=r"insert[ ](?:or[ ][a-z]{1,10}[ ])?into[ ]", hits=("INSERT INTO api_keys (id, owner, secret_key) VALUES (6, 'bob', 'T1gerX!9kk');",), misses=("INSERT INTO t (id, token_count) VALUES (1, '')", "insert into users (name, password) values ('bob', '$1')")),
    Rule("typed-call", "password", "what a test types into the field for a password",
         rf"(?:\.|^|[ ]){_TYPES}\([^()\n]{{0,160}}{_FIELD}[^\n,]{{0,60}}[\"'\])],", _TYPED, check=is_mixed_word, caseless=True, fingerprint=False,
         hits=("await page.fill('#password', 'pebble-orchid-55')", "page.type('input[name=\"password\"]', 'pebble-orchid-55')"), misses=("page.fill('#password', 'secret')", "page.fill('#password', process.env.PW)", "t.type('token', 'string')")),
    Rule("typed-field", "password", "what a test types after it found the field",
         rf"{_FIELD}[^\n()]{{0,40}}\)(?:\.[a-z_]{{1,16}}\(\)){{0,2}}\.(?:{_TYPES}|val)\(", _TYPED, check=is_mixed_word, caseless=True, fingerprint=False,
         hits=("cy.get('#password').type('pebble-orchid-55')", 'd.find_element(By.ID, "password").send_keys("pebble-orchid-55")'), misses=("cy.get('#password').type('string')",)),
    Rule("typed-json", "password", "what an agent types into the field for a password",
         rf"(?:element|selector|target|label|field|prompt|after|locator|question|description|placeholder)(?:=\f|\\{{0,3}}[\"'][ ]?:[ ]?\\{{0,3}}[\"'])[^\n\f]{{0,60}}{_FIELD}[^\n\f]{{0,60}}?(?:\f|[\"'])[^\n{{}}]{{0,120}}?(?:text|value|data|keys|chars|input)(?:=\f|\\{{0,3}}[\"'][ ]?:)", r"[ ]?\\{0,3}(?P<quote>[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n\f\\]){4,512}|[^\n\r\f]{4,512}))", check=is_mixed_word, caseless=True, fingerprint=False,
         wide=r"(?:element|selector|target|label|field|prompt|after|locator|question|description|placeholder)(?:=\f|\\{0,3}[\"'][ ]?:)[^\n]{0,200}(?:text|value|data|keys|chars|input)(?:=\f|\\{0,3}[\"'][ ]?:)",
         hits=('"target": "input[type=password]", "text": "pebble-orchid-55"', '{"element": "Password field", "ref": "e75", "text": "pebble-orchid-55"}'), misses=('"label": "Password", "value": "string"', '"element": "Search field", "text": "pebble-orchid-55"')),
    Rule("short-name", "password", "a strong password behind the one letter p",
         r"(?:[\"' {,$\f]|^)(?:p|pw|pwd)(?:=\f|\\{0,3}[\"']?[ ]?[:=][ ]?\\{0,3}[\"'])", r"(?P<secret>[^\"'\n\f\\]{8,128})", check=lambda match: is_login_word(match[SECRET]) and classes(match[SECRET]) > 3, fingerprint=False, rank=GUESS,
         hits=('"variables": {"e": "a@b.example", "p": "o^30Cr^NCct!CQ"}', "$p='T1ger~X!9kk'"), misses=('"p": "some-Path_2/x"', '"p": "2024-11-02T10:00Z"')),
)  # fmt: skip
