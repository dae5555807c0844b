"""Secrets in files that hold credentials, by the words of each format."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import random_looking
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.harmless.store_keys import is_store_command
from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.arguments import is_login_word
from policies.redact.rules.checks_around import is_netrc_password
from policies.redact.rules.checks_format import basic_credentials
from policies.redact.rules.grammar import PASSWORD_WORDS, TOKEN_WORDS
from policies.redact.rules.samples import hexa, mix, upper
from policies.redact.values import (
    is_generated_word,
    is_mixed_word,
    is_opaque,
    is_pair_word,
    is_password,
    is_user_pair,
)

_MAX_BLOCK_CHARS: Final = 800
_LOGIN_LINE: Final = re.compile(
    r"(?:\n|\\n|[\[,\f])[ \t]*(?:-[ ])?\\{0,3}[\"']?(?P<user>[a-z_][a-z0-9_.-]{0,31}):(?P<secret>[^\s\"',\]\\:/][^\s\"',\]\\]{2,255})(?=[\s\"',\]\\]|\Z)"
)
_BLOCK_END: Final = re.compile(r"\n(?=[a-z_]+:(?:[ \n]|\Z))|\n\n|expire")


def _logins(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Each `user:password` of the list; a hash of one is seen by its own rule."""
    stop = match.end() + _MAX_BLOCK_CHARS
    end = _BLOCK_END.search(match.string, match.end(), stop)
    for found in _LOGIN_LINE.finditer(match.string, match.end(), end.start() if end else stop):
        if not placeholder(found[SECRET]) and found[SECRET] not in ("R", "RANDOM"):
            yield found.span(SECRET)


_RESULT: Final = re.compile(
    r"\\{0,3}[\"']?\bresult\\{0,3}[\"']?\s*[:=]\s*\\{0,3}[\"\f](?P<secret>(?:[^\"\n\f\\]|\\(?!\")){4,256})\\{0,3}[\"\f]"
)
_RANDOM_CHARS: Final = 1_200


def _results(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What a state says that a resource of random words made."""
    stop = match.end() + _RANDOM_CHARS
    for found in _RESULT.finditer(match.string, match.end(), stop):
        if not placeholder(found[SECRET]):
            yield found.span(SECRET)


_VALUE: Final = re.compile(
    r"\\{0,3}\"value\\{0,3}\"\s*:\s*\\{0,3}\"(?P<secret>(?:[^\"\n\f\\]|\\(?!\")){4,2000})\\{0,3}\""
)
# As an object looks once its marks are taken off (`fields.py`).
_PAIR: Final = r"(?:(?!value=)[\w.-]{1,40}=\f[^\f]{0,200}\f){0,6}"
_FLAT_AFTER: Final = re.compile(rf"\f{_PAIR}value=\f(?P<secret>[^\f]{{4,2000}})")
_FLAT_BEFORE: Final = re.compile(rf"(?:\A|\f)value=\f(?P<secret>[^\f]{{4,600}})\f{_PAIR}\Z")
_SENSITIVE_CHARS: Final = 400
_FLAT_CHARS: Final = 800

# An output that is a list or an object: everything in it is meant.
_FLAT_TYPE: Final = re.compile(r"\ftype=\f(?:object|list|map|set|tuple)\f")
_NEXT_OUTPUT: Final = frozenset(("sensitive=", "value=", "type="))
_LEAF: Final = re.compile(r"(?P<secret>[^\f]{1,2000})\f(?=(?P<next>[a-z]{1,12}=?)?)")
_NESTED: Final = re.compile(r"\"value\"\s{0,4}:\s{0,4}(?=[\[{])")
_TOKEN: Final = re.compile(r"\"(?P<secret>(?:[^\"\\\n]|\\.){0,2000})\"(?P<name>\s{0,4}:)?|[\[\]{}]")
_MARK: Final = re.compile(r"(?:sensitive|secret|masked)\"\s{0,2}:\s{0,2}true")
_NESTED_CHARS: Final = 4_000


def _flat_leaves(text: str, end: int) -> Iterator[tuple[int, int]]:
    """The leaves behind `value=` up to the name of the next output."""
    if not _FLAT_TYPE.match(text, end):
        return
    inside = False
    for found in _LEAF.finditer(text, end + 1, end + _NESTED_CHARS):
        leaf = found[SECRET]
        if leaf == "sensitive=" or (inside and found["next"] in _NEXT_OUTPUT):
            return
        if inside and not leaf.endswith("=") and not placeholder(leaf):
            yield found.span(SECRET)
        inside = inside or leaf in ("value", "value=")


def _nested_strings(text: str, end: int) -> Iterator[tuple[int, int]]:
    """The strings of the list or object that is the value."""
    found = _NESTED.search(text, end, end + _SENSITIVE_CHARS)
    if found is None or "sensitive" in text[end : found.start()]:
        return
    depth, stop = 0, found.end() + _NESTED_CHARS
    # Where marks are taken off, no string can be told from what stands between two.
    border = text.find("\f", found.end(), stop)
    for token in _TOKEN.finditer(text, found.end(), stop if border < 0 else border):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth == 0 or (token["name"] and _MARK.match(text, token.start() + 1)):
            return
        if token[SECRET] and not token["name"] and not placeholder(token[SECRET]):
            yield token.span(SECRET)


def _sensitive(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The value of an output that is marked as sensitive, before or after the mark."""
    text, (start, end) = match.string, match.span()
    if "\f" in match[0]:
        low = max(0, start - _FLAT_CHARS)
        before, after = _FLAT_BEFORE.search(text[low:start]), _FLAT_AFTER.match(text, end)
        if before and not placeholder(before[SECRET]):
            yield low + before.start(SECRET), low + before.end(SECRET)
        if after and not placeholder(after[SECRET]):
            yield after.span(SECRET)
        yield from _flat_leaves(text, end)
        return
    yield from _nested_strings(text, end)
    first = max(0, start - _SENSITIVE_CHARS)
    opened = text.rfind("{", first, start)
    closed = text.find("}", end, end + _SENSITIVE_CHARS)
    low = opened if opened >= 0 else max(text.rfind("\n", first, start), first)
    high = closed if closed >= 0 else end
    for found in _VALUE.finditer(text, low, high):
        if not placeholder(found[SECRET]):
            yield found.span(SECRET)


_JAAS_USER: Final = re.compile(
    r"[ ]user_[A-Za-z0-9_.-]{1,64}=\\{0,3}[\"'](?P<secret>[^\"'\n\f\\]{3,256})"
)


def _jaas_users(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The passwords of the users that a broker lets in."""
    for found in _JAAS_USER.finditer(match.string, match.end(), match.end() + _MAX_BLOCK_CHARS):
        if not placeholder(found[SECRET]):
            yield found.span(SECRET)


_HEADER_VALUE: Final = re.compile(
    r"[A-Za-z0-9_-]{2,64}(?:=|%3D)(?:(?:Bearer|Basic)(?:%20|[ ]))?(?P<secret>[^\s,\"'&;]{8,2000})"
)


def _headers(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The values of a list of headers that only a generator writes."""
    stop = match.end() + _MAX_BLOCK_CHARS
    end = re.compile(r"[\s\"']").search(match.string, match.end() + 1, stop)
    for found in _HEADER_VALUE.finditer(match.string, match.end(), end.start() if end else stop):
        if random_looking(found[SECRET]) and not placeholder(found[SECRET]):
            yield found.span(SECRET)


_STORE_KEY: Final = re.compile(r"[\w.-]+(?::[\w.*-]+)+")


def _is_listed(match: re.Match[str]) -> bool:
    """A word in quotes beside the name of a user, and no key beside a command of a store."""
    user = match[0].strip('\f/"').partition('"')[0]
    if is_store_command(user) and _STORE_KEY.fullmatch(match[SECRET]):
        return False
    return is_login_word(match[SECRET]) or (
        random_looking(match[SECRET]) and "-" not in match[SECRET]
    )


_ENTRY: Final = re.compile(r"[A-Za-z0-9_. -]{0,64}\Z")


def _is_entry(match: re.Match[str]) -> bool:
    """A generated value of a property list; a key that verifies is none."""
    start = match.start()
    before = _ENTRY.search(match.string, max(0, start - 64), start)
    name = (before[0] if before else "") + match[0].partition("<")[0]
    if not names_a_secret(name) or not is_mixed_word(match):
        return False
    return random_looking(match[SECRET], 20) or "PASS" in name


def _is_output(match: re.Match[str]) -> bool:
    """What a step says that a name holds; no code stands there."""
    return names_a_secret(key_name(match)) and is_opaque(match)


# Words of configurations behind which a blank and a password stand.
_WORDS: Final = "|".join((
    r"requirepass[ ]", r"masterauth[ ]", r"insecure-password[ ]", r"^[ \t]*bindpw[ ]", r"^[ \t]*rootpw[ ](?:--plaintext[ ])?",
    r"default_authtok[ ]?=[ ]?", r"passwd/(?:root|user)-password(?:-again)?[ ]password[ ]", r"userPassword::[ ]?", r"signing_salt:[ ]?",
    r"[ ](?:EAP|XAUTH|NTLM)[ ]", r":[ ]RSA[ ][^\s\"]{1,128}[ ]", r"(?:REDIS|VALKEY)CLI_AUTH=", r"issecret=true\]", r"::add-mask::",
    r"PASSWORD[ ][a-z_]{1,32}[ ]=[ ]", r"[ ](?:MD5|SHA)[ ][^\s]{1,80}[ ](?:AES|DES)[ ]", r"auth_pass[ ]", r"authentication-key[ ]", r"tkn=",
    r"x-honeycomb-team[=:][ ]?",
))  # fmt: skip


def _chap(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The third word of each line under the heading."""
    line = re.compile(
        r"[\n][ \t]*[\"']?[^\s\"'#]{1,80}[\"']?[ \t]+[\"']?[^\s\"']{1,80}[\"']?[ \t]+[\"']?(?P<secret>[^\s\"']{3,256})"
    )
    for found in line.finditer(match.string, match.end(), match.end() + _MAX_BLOCK_CHARS):
        if not placeholder(found[SECRET]):
            yield found.span(SECRET)


RULES: Final[tuple[Rule, ...]] = (
    # Of clients and machines
    Rule("netrc", "password", "a netrc entry",
         r"(?:^|\s|\\{1,2}n)(?:login\s{1,4}[^\s]{1,64}\s{1,4}|user[ \t]{1,4}[^\s]{1,64}(?:\r?\n[ \t]{0,8}|\\{1,2}n))password\s", r"\s*(?P<secret>[^\s\"'`\\]{1,512})", check=is_netrc_password, caseless=True, fingerprint=False,
         hits=("machine api.example.com login ci password YlLhlSwJ+f9", "account work\nuser anna\npassword starwars7769"), misses=("login user password required", "ALTER USER notifier6030 PASSWORD EXPIRE;")),
    Rule("plist", "password", "a property list entry",
         rf"<key>[^<]{{0,40}}(?P<key>(?:{PASSWORD_WORDS}|token|secret|api[-_]?key|passphrase)[^<]{{0,24}})</key>", r"(?:\s|\\{1,2}[nrt])*<(?:string|data)>\s*(?P<secret>[^<\f]{1,16384}?)\s*</", check=is_password, caseless=True, fingerprint=False, wide=r"<key>[^<]{0,160}</key>",
         hits=("<key>Password</key>\n<string>YU^zhuwCEE9B!pyt5</string>",), misses=("<key>PasswordFile</key><string>x</string>",)),
    Rule("pgpass", "password", "a line of a PostgreSQL password file",
         r"[A-Za-z0-9.*_-]{1,128}:(?:5432|5433|6432|[*]):[A-Za-z0-9*_-]{1,64}:[A-Za-z0-9*_-]{1,64}:", r"(?P<secret>[^\s:\"']{3,256})(?=$|[\f\"'])", check=is_opaque, fingerprint=False,
         hits=("db.example.com:5432:app:bob:T1gerX!9kk",), misses=("db:5432:app:bob:$PW",)),
    Rule("gcp-key-id", "secret", "a client secret of an OAuth app file",
         r"client_secret\\{0,3}[\"'][ ]?:[ ]?\\{0,3}[\"']", r"(?P<secret>[^\"'\\\f\n]{6,512})", check=is_opaque, hits=(f'"client_secret":"{mix(24)}"',)),
    Rule("docker-auth", "docker-auth", "the auth entry of a registry",
         r"(?:auth|_auth|identitytoken|registrytoken)\\{0,3}[\"']?[ \t]?[:=][ \t]?\\{0,3}[\"'\f]?", r"(?P<secret>[A-Za-z0-9+/]{8,16384}={0,2})(?![A-Za-z0-9+/(._-])", check=basic_credentials, caseless=True, rank=SHAPE,
         hits=('{"auths": {"x": {"auth": "ZGVwbG95OjJQMnhPSmt1Wnc0"}}}', "//npm.example.com/:_auth=ZGVwbG95OjJQMnhPSmt1Wnc0"), misses=("auth=abcdefgh", "auth: required")),
    Rule("network-config", "password", "a secret in the configuration of a router",
         r"(?:(?:password|secret|key)[ ][05789][ ]|snmp-server[ ]community[ ]|(?:tacacs|radius)(?:-server)?[ ](?:[^\n\f]{1,60}?[ ])?key[ ](?:[0-9][ ])?|neighbor[ ][^ \n]{1,40}[ ]password[ ]|key-string[ ])", r"[\"']?(?P<secret>[^\s\"'`\f]{4,256})", check=is_mixed_word, fingerprint=False,
         hits=("username bob password 7 3A014B995B23", "snmp-server community T1gerX9 RO", "tacacs-server key T1gerX9"), misses=("snmp-server community public RO", "the key 5 of")),
    Rule("cookie-jar", "session-cookie", "a line of a cookie file",
         r"\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,128}\t", r"(?P<secret>[^\t\n]{8,4096})", rank=SHAPE,
         hits=(f"x.org\tTRUE\t/\tTRUE\t0\tsessionid\t{mix(32)}",)),
    Rule("cookie-object", "session-cookie", "a cookie that Ruby wrote down, as fastlane keeps a session",
         r"ruby/object:HTTP::Cookie", r"[^!]{0,240}?value:[ ]?(?:![ ])?\\{0,3}[\"']?(?P<secret>(?:[^\s\"'\\\f]|\\(?![nrt\"'\\])){8,4096})", check=is_opaque, rank=SHAPE,
         hits=(f"FASTLANE_SESSION='---\n- !ruby/object:HTTP::Cookie\n  name: DES5c1485\n  value: HSARMT{mix(60)}\n'", f"- !ruby/object:HTTP::Cookie\\n  name: myacinfo\\n  value: DAW{mix(60)}\\n  domain: h.example\\n"), misses=("- !ruby/object:HTTP::Cookie\n  name: x\n  value: ''\n",)),
    Rule("conf-word", "password", "a word in quotes behind a word of a configuration",
         r"(?:[:\s][ ]?PSK|(?:createUser|usmUser)[ ]\S{1,64}[ ](?:MD5|SHA(?:-?[0-9]{3})?)|[\"'][ ](?:AES|DES)(?:-?[0-9]{3})?|insecure-password|WIFI:[^\n\f]{0,100}?;P:)[ ]?", r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)[^\"'\n\f\\]{6,256}|[^\s\"'`;,\f\\]{6,256}))", check=is_generated_word, fingerprint=False, rank=GUESS,
         hits=(': PSK "T1gerX!9kk"', 'createUser m SHA "T1gerX!9kk" AES "L1onY!8jj"', "WIFI:T:WPA;S:Home;P:T1gerX!9kk;;"), misses=("cipher AES-256-GCM", "mode AES GCM-SHA384_x1")),
    Rule("vpn-inline", "password", "the login of a tunnel",
         r"<auth-user-pass>(?:\s|\\{1,4}[rn]){1,4}[^\s\\]{1,64}(?:\s|\\{1,4}[rn])", r"(?:\s|\\{1,4}[rn]){0,4}(?P<secret>[^\s<\\]{3,256})", fingerprint=False, rank=SHAPE,
         hits=("<auth-user-pass>\nbob\nT1gerX!9kk\n</auth-user-pass>",)),
    # Of servers and systems
    Rule("chap-secrets", "password", "a line of a file of logins",
         r"#[ ]client[ \t]+server[ \t]+secret", "", parts=_chap, fingerprint=False,
         hits=("# client  server  secret  IP addresses\n\"bob\"  *  \"T1gerX9\"  *",)),
    Rule("sasl-passwd", "password", "a login for a relay",
         r"\]:[0-9]{2,5}[ \t]+[^\s:\"']{1,80}:", r"(?P<secret>[^\s\"'`]{3,256})", check=is_user_pair, fingerprint=False,
         hits=("[smtp.example.com]:587 bob@example.com:T1gerX9kk",), misses=("[::1]:587 bob:$PW",)),
    Rule("conf-login", "password", "user:password as the value of a setting",
         r"(?:(?:user|userpwd|credentials?|login|auth)[ ]?[=:][ ]?[\"']|user[._-]info[ ]?[=:][ ]?[\"']?|BUNDLE_[A-Z0-9_]{2,80}(?:=|:[ ])[\"']?)[^\s:\"'`/\f,{}]{1,64}:", r"(?P<secret>[^\s\"'`\f]{6,512})(?=[\"'\f]|\s|$)", check=is_pair_word, caseless=True, fingerprint=False, rank=GUESS,
         wide=r"(?:(?:user|userpwd|credentials?|login|auth)[ ]?[=:][ ]?[\"']|user[._-]info|bundle_[a-z0-9_]{2,80}[=:])[^\f\n]{1,80}:",
         hits=('user = "etl:T1gerX9kk"', 'BUNDLE_GEMS__ACME__DEV: "ci:T1gerX9kk"', "schema.registry.basic.auth.user.info=K2:T1gerX9/kk"), misses=('user: "nobody:nogroup"', 'user="$U:$P"', "user = \"http://x/y\"")),
    Rule("conf-secret", "password", "a password behind a word of a configuration",
         rf"(?:{_WORDS})", r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)[^\"'\n\f\\]{4,256}|[^\s\"'`;,\f\\&]{4,2000}))", check=is_mixed_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("requirepass pebble183", "userlist x\n  user a insecure-password falcon-84", 'bob : EAP "Summer_32"', "PASSWORD elastic = T1gerX9kk", "REDISCLI_AUTH=Tiger407 redis-cli", "::add-mask::T1gerX9kk", "http://localhost:8000/?tkn=b1b56068-3f61-4ca8-a3dc-c5b54c414c3c"),
         misses=("requirepass is set", "requirepass foobared", "::add-mask::${{ steps.x.outputs.y }}", "PASSWORD elastic = ", "REDISCLI_AUTH=$PW", "enable secret scanning")),
    Rule("workflow-output", "secret", "an output, a state or a variable that a workflow's command sets",
         rf"(?:::(?:set-output|save-state|set-env)[ ]name=|##vso\[task\.setvariable[ ]variable=)[A-Za-z0-9_.-]{{0,40}}(?P<key>(?:{PASSWORD_WORDS}|{TOKEN_WORDS}|_pass|_pat|_creds)[A-Za-z0-9_-]{{0,16}})(?:::|(?:;[a-z]{{1,12}}=[a-z]{{1,5}}){{0,3}}\])", r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)[^\"'\n\f\\]{3,4096}|[^\s\"'`\f\\]{3,4096}))", check=_is_output, caseless=True,
         wide=r"(?:::(?:set-output|save-state|set-env)[ ]name=|##vso\[task\.setvariable[ ]variable=)",
         hits=(f"::set-output name=token::{mix(40)}", "::save-state name=db_password::falcon_84", "##vso[task.setvariable variable=dbPassword]falcon_84"), misses=("::set-output name=token_count::17", "::set-output name=token::${{ steps.x.outputs.y }}", "::set-output name=cache-key::linux-17")),
    Rule("chpasswd-list", "password", "a list of users and passwords for a new system",
         r"chpasswd\\{0,3}[\"']?:|chpasswd[ ]?<<", "", parts=_logins, fingerprint=False,
         hits=("chpasswd:\n  list: |\n    ubuntu:sunshine_85\n  expire: false", 'chpasswd: { list: ["ubuntu:dragon.98"] }', "chpasswd <<EOF\nroot:sunshine_85\nEOF"),
         misses=("chpasswd:\n  expire: false\n", "chpasswd:\n  list: |\n    root:RANDOM\n  expire: false")),
    Rule("unattend", "password", "the password of an answer file",
         r"Password>(?:\s|\\[nrt]){0,8}<Value>", r"(?P<secret>[^<*\s][^<\s]{2,511})</Value>", check=is_opaque, fingerprint=False,
         hits=("<AutoLogon><Password><Value>Welcome!478</Value><PlainText>true</PlainText></Password>",), misses=("<Password><Value>*SENSITIVE*DATA*DELETED*</Value></Password>",)),
    Rule("random-result", "secret", "a random word in the state of an infrastructure",
         r"random_(?:password|string|bytes)", "", parts=_results, fingerprint=False, rank=GUESS,
         hits=('"type": "random_password", "instances": [{"attributes": {"length": 24, "result": "2S5V2Ob8oH!t"}}]',), misses=('resource "random_password" "db" {\n  length = 16\n}', '"type": "random_password", "result": "<sensitive>"')),
    Rule("sensitive-value", "secret", "an output that is marked as sensitive",
         r"(?:sensitive|secret|masked)(?:\\{0,3}\"\s{0,2}:\s{0,2}|=\f)true", "", parts=_sensitive, fingerprint=False, rank=GUESS,
         hits=('out: "db_password": {"value": "T1gerX9kk", "type": "string", "sensitive": true}', '"x": {"sensitive": true, "type": "string", "value": "T1gerX9kk"}', "x\fsensitive=\ftrue\ftype=\fstring\fvalue=\fT1gerX9kk\f", '"value": "T1gerX9kk", "sensitive": true'), misses=('{"a": {"value": "open"}, "b": {"sensitive": true}}', '"sensitive": true, "value": "(sensitive value)"')),
    Rule("docker-config", "docker-auth", "the logins of registries, in base64",
         r"\.docker(?:configjson|cfg)\\{0,3}[\"']?[=:]", r"[ ]?(?:\\{0,3}[\"']|\f)?(?P<secret>[A-Za-z0-9+/=]{40,65536})", rank=SHAPE,
         hits=(f"data:\n  .dockerconfigjson: eyJhdXRocyI6{mix(80)}",), misses=(".dockerconfigjson: <base64>",)),
    Rule("acl-user", "password", "a user in an access list of Redis",
         r"(?:^|[^A-Za-z0-9_.-])user[ ][A-Za-z0-9_.-]{1,64}[ ](?:[^\n>]{0,80}[ ])?(?:on|off|reset|[~&+#-][^\s]{0,40})[ ]>", r"(?P<secret>[^\s\"'`,;<>\f]{3,512})", check=is_opaque, fingerprint=False,
         hits=("user default on >dragon_9238 ~* +@all",), misses=("user default on >$PW ~*", "sudo -u user make >log1.txt")),
    Rule("user-list", "password", "a line of a list of users and passwords in quotes",
         r"(?:^|[\f/\"])\"[A-Za-z0-9_.-]{1,64}\"[ ]\"", r"(?P<secret>[^\"\n]{6,512})\"(?:[ ]\"[^\"\n]*\")?(?=[ \t]*$|[\f\".])", check=_is_listed, fingerprint=False, rank=GUESS,
         hits=('"appuser" "orchid!2456"',), misses=('"name" "some-value-2"', '"version" "1.2.3"', '"GameState" "2024-11-02"')),
    Rule("jaas-users", "password", "the users of a broker", r"LoginModule[ ]required", "", parts=_jaas_users, fingerprint=False,
         hits=('PlainLoginModule required username="a" user_bob="falcon.223";',), misses=('PlainLoginModule required username="a" user_bob="$PW";',)),
    Rule("property-element", "password", "a property whose name ends in a word for a password",
         r"name=[\"'][A-Za-z0-9_.-]{0,80}(?:password|passwd|secret|token|passphrase)[\"'](?:[ ][^<>\n]{0,60})?>", r"(?P<secret>[^<>\n\f]{3,512})</", check=is_mixed_word, caseless=True, fingerprint=False, wide=r"(?:password|passwd|secret|token|passphrase)[\"'](?:[ ][^<>\n]{0,60})?>",
         hits=('<property name="hibernate.connection.password">Tiger-61</property>',), misses=('<property name="password">${pw}</property>', '<input name="password"></input>', '<label name="password">password</label>')),
    Rule("plist-key", "secret", "an entry of a property list that ends in a word for a key",
         r"(?:_PAT|_PASS|_PW|PASS|_KEY|Key|_AUTH|_CREDS?|_DSN|_TOKEN)</key>", r"(?:\s|\\{1,2}[nrt])*<string>(?P<secret>[^<\f\s]{6,4096})</string>", check=_is_entry, rank=GUESS,
         hits=(f"<key>AZURE_DEVOPS_EXT_PAT</key><string>{hexa(52)}</string>", "<key>SMTP_PASS</key><string>orchid519</string>"), misses=("<key>NSWindowKey</key><string>Main Window 2</string>", "<key>BundleKey</key><string>com.example.app</string>", f"<key>SUPublicEDKey</key><string>{mix(43)}=</string>")),
    Rule("kaggle", "secret", "a user and a key side by side",
         r"(?:username\\{0,3}\"[ ]?:[ ]?\\{0,3}\"[^\"\n]{1,64}\",[ ]?\\{0,3}\"key\\{0,3}\"[ ]?:|username=\f[^\f\n]{1,64}\fkey=)", r"[ ]?\\{0,3}[\"\f](?P<secret>[0-9a-f]{32})(?![0-9a-f])", rank=SHAPE,
         hits=(f'{{"username": "mlbot", "key": "{hexa(32)}"}}',), misses=('{"username": "bob", "key": "value"}',)),
    Rule("otlp-headers", "secret", "a list of headers for telemetry",
         r"OTLP_(?:[A-Z]{1,8}_)?HEADERS[=:]", "", parts=_headers,
         hits=(f"OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team={mix(22)}", f'OTEL_EXPORTER_OTLP_TRACES_HEADERS="a=b,api-key={mix(30)}"'), misses=("OTEL_EXPORTER_OTLP_HEADERS=x-tenant=acme", "OTEL_EXPORTER_OTLP_HEADERS=api-key=${KEY}")),
    Rule("erlang-cookie", "erlang-cookie", "the cookie that joins nodes",
         r"-setcookie[ =\f]", r"[\"']?(?P<secret>[^\s\"'`\f]{4,255})", check=is_opaque, fingerprint=False,
         hits=(f"erl -name a@b -setcookie {upper(20)}",), misses=("erl -setcookie $COOKIE",)),
    Rule("snmp-community", "password", "the word that opens a network device",
         r"\br[ow]community6?[ ]", r"(?P<secret>[^\s\"'`\f]{5,64})", check=is_mixed_word, fingerprint=False, rank=GUESS,
         hits=("rocommunity lJ4wcd3Fky 10.0.0.0/8",), misses=("rocommunity public default", "rwcommunity private")),
    Rule("sftp-user", "password", "user:password of a server that a container starts",
         r"(?:SFTP_USERS|FTP_USERS|SAMBA_USER|VPN_USERS?|MC_HOST_[a-z0-9]{1,20}|HTTP_USERS|BASIC_AUTH_USERS?|TRAEFIK_USERS?)[=:][ ]?[\"']?[A-Za-z0-9_.-]{1,64}[:;]", r"(?P<secret>[^\s\"'`:;,\f]{4,256})", check=is_user_pair, fingerprint=False,
         hits=("SFTP_USERS=bob:Tiger407:1001",), misses=("SFTP_USERS=bob:$PW:1001",)),
)  # fmt: skip
