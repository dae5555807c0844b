"""Secrets in the words of protocols, query languages and markup."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SHAPE, Rule
from policies.redact.rules.checks import is_protocol_word, three_kinds
from policies.redact.rules.checks_around import is_element, is_sql_credential, is_subprotocol
from policies.redact.rules.checks_format import beside_a_key_type
from policies.redact.rules.grammar import ANY_NAME, PASSWORD_WORDS, TOKEN_WORDS
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_generated_word, is_mixed_word, is_opaque, is_password

_WORD = r"(?P<secret>[^\s\"'`,;<>\f]{4,512})"
_QUOTED = r"[NnEe]?\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){3,512})"

_USERINFO: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}:([^\s\"'`@/\f]{1,128})")


def _before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The password of the user that stands before the match."""
    first = max(0, match.start() - 200)
    for found in _USERINFO.finditer(match.string, first, match.start()):
        if found.end() == match.start() and not placeholder(found[1]):
            yield found.span(1)


RULES: Final[tuple[Rule, ...]] = (
    # Databases
    Rule("sql-password", "password", "the password of a database user",
         r"identified[ ](?:with[ ][\"'`]?\w{1,40}[\"'`]?[ ])?(?:by|as)[ ](?:password[ ]|values[ ])?", r"\\{0,2}(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\\]{1,256}|[^\s\"'\\;]{3,256}))", check=is_opaque, caseless=True, fingerprint=False,
         hits=("GRANT ALL ON x TO 'bob' IDENTIFIED BY 't4bl3!Row'", "CREATE USER b IDENTIFIED WITH sha2 BY 't4bl3!Row'"), misses=("IDENTIFIED BY '$PW'", "identified by the")),
    Rule("sql-password-for", "password", "SET PASSWORD FOR someone",
         r"password[ ]for[ ][^\n=]{1,80}=[ ]?(?:password\()?", r"[ ]?" + _QUOTED, check=is_opaque, caseless=True, fingerprint=False,
         hits=("SET PASSWORD FOR 'root'@'localhost' = 'T1gerX!9kk'", "set password for bob = PASSWORD('T1gerX!9kk')"), misses=("SET PASSWORD FOR bob = '$PW'",)),
    Rule("sql-credential", "secret", "a credential among the options of a statement",
         r"(?:aws_secret_key|aws_secret_access_key|azure_sas_token|secret|encryption_password|master_key)[ ]?(?:=>?|[ ])[ ]?[NnEe]?'", r"(?P<secret>[^'\n\f]{6,512})'", check=is_sql_credential, caseless=True,
         hits=("CREATE CREDENTIAL c WITH IDENTITY='x', SECRET = 'q9Wm3Zx8Lk2V'",), misses=("SECRET = '$X'",)),
    Rule("sql-by-password", "password", "ENCRYPTION BY PASSWORD, PRAGMA key and the like",
         r"(?:(?:en|de)cryption[ ]by[ ]password|pragma[ ](?:re)?key|pgp_sym_(?:en|de)crypt\([^,\n]{1,200},)[ ]{0,2}=?[ ]?", r"[ ]?(?:\"x)?" + _QUOTED, check=is_opaque, caseless=True, fingerprint=False,
         hits=("CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'T1gerX!9kk'", "PRAGMA key = 'T1gerX!9kk';", "select pgp_sym_decrypt(x, 'T1gerX!9kk')"), misses=("PRAGMA key = '$K'",)),
    Rule("go-dsn", "password", "user:password before a network in brackets, as Go's drivers take it",
         r"@(?:tcp|unix|cloudsql)\(", "", parts=_before, fingerprint=False,
         hits=("app:raspberry-99@tcp(10.0.0.9:3306)/shop",), misses=("app:$PW@tcp(10.0.0.9:3306)/shop", "app@tcp(db)/x")),
    Rule("redis-auth", "password", "what a client of Redis sends to be let in",
         r"(?:^|[^A-Za-z_-])(?:AUTH[ ](?:[A-Za-z0-9_.-]{1,32}[ ])?|(?:CONFIG[ ]SET[ ])?(?:requirepass|masterauth|sentinel[ ]auth-pass[ ]\S{1,32})[ ])", r"[\"']?(?!SHA|MD5)(?P<secret>[^\s\"'`,;<>\f]{5,512})", check=is_generated_word, fingerprint=False, rank=GUESS,
         hits=("AUTH default T1gerX!9kk", "CONFIG SET requirepass T1gerX!9kk", "requirepass T1gerX!9kk"), misses=("AUTH PLAIN LOGIN XOAUTH2", "requirepass foobared", "AUTH SHA256:x")),
    Rule("redis-acl", "password", "a password in an access list of Redis",
         r"ACL[ ]SETUSER[ ]\S{1,64}[ ][^\n>]{0,80}>", _WORD, caseless=True, check=is_opaque, fingerprint=False,
         hits=("ACL SETUSER bob on >T1gerX!9kk ~*",), misses=("ACL SETUSER bob on >$PW",)),
    # Mail, files, names
    Rule("mail-auth", "authorization", "credentials of a mail protocol",
         r"AUTH(?:ENTICATE)?[ ](?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER|CRAM-MD5)[ ]", r"(?P<secret>[A-Za-z0-9+/]{8,4096}={0,2})(?![A-Za-z0-9])", check=is_mixed_word, caseless=True, rank=SHAPE,
         hits=("C: AUTH PLAIN AGJvYgBUMWdlclghOWtr",), misses=("250 AUTH PLAIN LOGIN", "AUTH PLAIN LOGIN CRAM-MD5")),
    Rule("imap-login", "password", "LOGIN user password",
         r"(?:^|[ >\f/\"'])[A-Za-z]{0,4}[0-9]{1,6}[ ]LOGIN[ ]\\{0,3}[\"']?[^\s\"'\\]{1,128}\\{0,3}[\"']?[ ]", r"\\{0,3}[\"']?(?P<secret>[^\s\"'\f\\]{4,256})", check=is_opaque, fingerprint=False,
         hits=("a1 LOGIN bob T1gerX!9kk", "C: A003 LOGIN \"bob\" \"T1gerX!9kk\""), misses=("a1 OK LOGIN done",)),
    Rule("pass-command", "password", "PASS, as FTP, POP3 and IRC take it",
         r"(?:^|[>:][ ]|\\n|[/\f\"']|USER[ ][^\s]{1,64}[ ])(?:PASS|IDENTIFY|NICKSERV[ ]IDENTIFY)[ ]", r"[\"']?(?P<secret>[^\s\"'\f\\]{6,256})\\{0,3}[\"']?[ \r]{0,2}\\{0,3}[\"']?(?=$|\f|[\]},]|\\{1,4}[rn]|[.][a-z])", check=is_protocol_word, fingerprint=False,
         hits=("PASS T1gerX!9kk", "> PASS T1gerX!9kk", "USER bob\nPASS T1gerX!9kk\n"), misses=("PASS src/a1.test.ts", "PASS TestFoo1 (0.01s)", "331 Password required for bob", "PASS test_a1.py")),
    Rule("protocol-pass", "password", "what a client of FTP, POP3 or Redis says to be let in",
         r"(?:(?:FTP|POP3?|SFTP)[^\n\f]{0,40}?[ ]PASS|AUTH[ ]default)[ ]", r"(?P<secret>[^\s\"'`,;<>\\\f]{5,256})(?=[ ]*(?:$|[\f\"'\\]))", check=is_mixed_word, fingerprint=False, rank=GUESS,
         hits=("length 30: FTP: PASS Welcome_1573", "127.0.0.1:6379> AUTH default football1012"), misses=("FTP: PASS required", "PASS test_a1.py", "FTP: PASS")),
    Rule("tsig", "secret", "a key of a name server", r"(?:hmac-(?:md5|sha(?:1|224|256|384|512))):[A-Za-z0-9._-]{1,64}:", r"(?P<secret>[A-Za-z0-9+/]{16,200}={0,2})", caseless=True, rank=SHAPE,
         hits=(f"nsupdate -y hmac-sha256:k:{mix(43)}=",)),
    # Markup
    Rule("xml-element", "password", "an XML element named after a password",
         rf"<(?:[a-z0-9]{{1,20}}:)?(?P<key>(?:{PASSWORD_WORDS}|token|secret|apikey|pass(?=>|[ ]enc)))(?:(?:[ ]encoding=[\"'][a-z0-9]{{1,9}}[\"'])?>|[ ]value=[\"'])", r"(?P<secret>[^<\f\"']{3,16384})(?:</|[\"'])", check=is_password, caseless=True, fingerprint=False, wide=r"<[^<>\n/]{1,120}(?:>|=[\"'])",
         hits=("<server><password>Zx81kk2!q</password></server>",), misses=("<password>${env.PW}</password>",)),
    Rule("xml-named", "secret", "an element whose name ends in a word for a secret",
         rf"(?:<|&lt;)(?:[A-Za-z0-9]{{1,20}}:)?(?:[a-z]{{1,24}}[ ](?:[^<>\n]{{0,80}}[ ])?(?:key|name|id)=[\"'])?(?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}|[._]pass))[\"']?(?:[ ][^<>\n]{{1,300}})?(?:>|&gt;)", r"(?P<secret>[^<>&\f]{3,16384})(?:</|&lt;/)", check=is_element, caseless=True, wide=r"(?:<|&lt;)[^<>\n]{1,400}(?:>|&gt;)",
         hits=(f"<clientSecret>{mix(32)}</clientSecret>", '<entry key="db.password">T1gerX!9kk</entry>', f'<string name="api_key">{mix(30)}</string>', '<wsse:Password Type="#PasswordText">T1gerX!9kk</wsse:Password>', "&lt;password&gt;T1gerX!9kk&lt;/password&gt;"),
         misses=("<password>${env.PW}</password>", "<PasswordPolicy>strict</PasswordPolicy>", "<tokenType>bearer</tokenType>", "<label>Password</label>", '<string name="login_password">Passwort</string>')),
    # Web
    Rule("k8s-websocket", "secret", "a bearer token in the name of a protocol",
         r"(?:base64url\.bearer\.authorization\.k8s\.io\.|(?:^|[\s\"',/\f:])(?:bearer|(?:access|id|auth)?[_-]?token|auth(?:orization)?|jwt)(?:[.-]|,[ ]))", r"(?P<secret>[A-Za-z0-9_-]{16,16384})", check=is_subprotocol, caseless=True, rank=SHAPE,
         hits=(f"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{mix(40)}", f"Sec-WebSocket-Protocol: graphql-ws, bearer.{mix(43)}"), misses=("Sec-WebSocket-Protocol: bearer.authorization, binary.k8s.io", "token, base64UrlEncodeSha256Digest")),
    Rule("jwk-private", "private-key", "the private number of a JSON web key",
         r"(?:[\"'\f{,]|[ ])(?:d|p|q|dp|dq|qi|k)\\{0,3}[\"']?[ ]?[:=][ ]?(?:\f|\\{0,3}[\"'])(?P<secret>[A-Za-z0-9_-]{22}", r"[A-Za-z0-9_-]{0,2000})", check=beside_a_key_type, rank=SHAPE,
         hits=(f'{{"kty":"EC","crv":"P-256","x":"{mix(43)}","d":"{mix(43)}"}}', f"kty=\foct\fk=\f{mix(43)}\f"), misses=(f'{{"d":"{mix(43)}"}}',)),
    Rule("saml", "authorization", "an assertion of a single sign-on",
         r"(?:SAMLResponse|SAMLart|wresult|id_token_hint)(?:=|%3D|\\{0,3}[\"']?[ ]?:)", r"[ ]?\\{0,3}[\"'\f]?(?P<secret>[A-Za-z0-9+/=%._-]{20,65536})", rank=SHAPE,
         hits=(f"SAMLResponse={mix(80)}",)),
    Rule("token-part", "secret", "one of several tokens that are told together",
         r"(?:^|[^A-Za-z0-9_.-])(?:access|refresh|bearer|jwt|tok|sess)(?:[\"'][ ]?:|=)", r"[ ]?[bB]?\\{0,3}(?:[\"'\f])(?P<secret>[A-Za-z0-9_.~+/-]{24,4096})", check=three_kinds, rank=GUESS,
         hits=(f"Token(access='{mix(40)}', refresh='{mix(40)}')",), misses=("id='aSimpleIdentifierOfSomething'", f"id='{hexa(40)}'")),
    Rule("form-part", "secret", "a part of a form",
         rf"name=\\{{0,3}}[\"'](?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}))\\{{0,3}}[\"'](?:[\r\n]|\\{{1,4}}[rn])", r"(?:[\r\n ]|\\{1,4}[rn]){0,6}(?P<secret>[^\r\n\\\f]{3,4096})", check=is_password, caseless=True,
         wide=rf"name=\\{{0,3}}[\"']{ANY_NAME}\\{{0,3}}[\"'](?:[\r\n]|\\{{1,4}}[rn])",
         hits=('Content-Disposition: form-data; name="password"\r\n\r\nT1gerX!9kk',), misses=('name="password"\n\n$PW',)),
)  # fmt: skip
