"""Secrets in the words of protocols, query languages and file formats."""

import base64
from typing import Final

from policies.redact.rule import EDGE, GUESS, SHAPE, Rule
from policies.redact.rules.checks import (
    beside_a_key_type,
    is_hidden_key,
    is_hook_id,
    is_pair_value,
    is_protocol_word,
    prefixed_body,
    three_kinds,
    userinfo,
    whole_blob,
)
from policies.redact.rules.grammar import ANY_NAME, PASSWORD_WORDS, SCHEME, TOKEN_WORDS
from policies.redact.rules.samples import hexa, mix, uuid
from policies.redact.values import (
    is_generated_word,
    is_mixed,
    is_mixed_word,
    is_opaque,
    is_password,
)

_WORD = r"(?P<secret>[^\s\"'`,;<>\f]{4,512})"
_QUOTED = r"[NnEe]?\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){3,512})"
# The first words of a key in armour, in base64 at its three alignments.
_ARMOUR: Final = r"(?:UFJJVkFURSBLRVkt|QUklWQVRFIEtFWS|BSSVZBVEUgS0VZLS)"

_CODED: Final = base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\n" + mix(120).encode()).decode()

RULES: Final[tuple[Rule, ...]] = (
    # Databases
    Rule("sql-password-for", "password", "SET PASSWORD FOR someone",
         r"password[ ]for[ ][^\n=]{1,80}=[ ]?(?:password\()?", r"[ ]?" + _QUOTED, check=is_opaque, caseless=True, fingerprint=False,
         hits=("SET PASSWORD FOR 'root'@'localhost' = 'T1gerX!9kk'", "set password for bob = PASSWORD('T1gerX!9kk')"), misses=("SET PASSWORD FOR bob = '$PW'",)),
    Rule("sql-credential", "secret", "a credential among the options of a statement",
         r"(?:aws_secret_key|aws_secret_access_key|azure_sas_token|secret|encryption_password|master_key)[ ]?(?:=>?|[ ])[ ]?[NnEe]?'", r"(?P<secret>[^'\n\f]{6,512})'", check=is_opaque, caseless=True,
         hits=("CREATE CREDENTIAL c WITH IDENTITY='x', SECRET = 'q9Wm3Zx8Lk2V'",), misses=("SECRET = '$X'",)),
    Rule("sql-by-password", "password", "ENCRYPTION BY PASSWORD, PRAGMA key and the like",
         r"(?:(?:en|de)cryption[ ]by[ ]password|pragma[ ](?:re)?key|pgp_sym_(?:en|de)crypt\([^,\n]{1,200},)[ ]{0,2}=?[ ]?", r"[ ]?(?:\"x)?" + _QUOTED, check=is_opaque, caseless=True, fingerprint=False,
         hits=("CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'T1gerX!9kk'", "PRAGMA key = 'T1gerX!9kk';", "select pgp_sym_decrypt(x, 'T1gerX!9kk')"), misses=("PRAGMA key = '$K'",)),
    Rule("redis-auth", "password", "what a client of Redis sends to be let in",
         r"(?:^|[^A-Za-z_-])(?:AUTH[ ](?:[A-Za-z0-9_.-]{1,32}[ ])?|(?:CONFIG[ ]SET[ ])?(?:requirepass|masterauth|sentinel[ ]auth-pass[ ]\S{1,32})[ ])", r"[\"']?(?!SHA|MD5)(?P<secret>[^\s\"'`,;<>\f]{5,512})", check=is_generated_word, fingerprint=False, rank=GUESS,
         hits=("AUTH default T1gerX!9kk", "CONFIG SET requirepass T1gerX!9kk", "requirepass T1gerX!9kk"), misses=("AUTH PLAIN LOGIN XOAUTH2", "requirepass foobared", "AUTH SHA256:x")),
    Rule("redis-acl", "password", "a password in an access list of Redis",
         r"ACL[ ]SETUSER[ ]\S{1,64}[ ][^\n>]{0,80}>", _WORD, caseless=True, check=is_opaque, fingerprint=False,
         hits=("ACL SETUSER bob on >T1gerX!9kk ~*",), misses=("ACL SETUSER bob on >$PW",)),
    # Mail, files, chat
    Rule("mail-auth", "authorization", "credentials of a mail protocol",
         r"AUTH(?:ENTICATE)?[ ](?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER|CRAM-MD5)[ ]", r"(?P<secret>[A-Za-z0-9+/]{8,4096}={0,2})(?![A-Za-z0-9])", check=is_mixed_word, caseless=True, rank=SHAPE,
         hits=("C: AUTH PLAIN AGJvYgBUMWdlclghOWtr",), misses=("250 AUTH PLAIN LOGIN", "AUTH PLAIN LOGIN CRAM-MD5")),
    Rule("imap-login", "password", "LOGIN user password",
         r"(?:^|[ >\f/\"'])[A-Za-z]{0,4}[0-9]{1,6}[ ]LOGIN[ ]\\{0,3}[\"']?[^\s\"'\\]{1,128}\\{0,3}[\"']?[ ]", r"\\{0,3}[\"']?(?P<secret>[^\s\"'\f\\]{4,256})", check=is_opaque, fingerprint=False,
         hits=("a1 LOGIN bob T1gerX!9kk", "C: A003 LOGIN \"bob\" \"T1gerX!9kk\""), misses=("a1 OK LOGIN done",)),
    Rule("pass-command", "password", "PASS, as FTP, POP3 and IRC take it",
         r"(?:^|[>:][ ]|\\n|[/\f\"']|USER[ ][^\s]{1,64}[ ])(?:PASS|IDENTIFY|NICKSERV[ ]IDENTIFY)[ ]", r"[\"']?(?P<secret>[^\s\"'\f\\]{6,256})\\{0,3}[\"']?[ \r]{0,2}\\{0,3}[\"']?(?=$|\f|[\]},]|\\{1,4}[rn]|[.][a-z])", check=is_protocol_word, fingerprint=False,
         hits=("PASS T1gerX!9kk", "> PASS T1gerX!9kk", "USER bob\nPASS T1gerX!9kk\n"), misses=("PASS src/a1.test.ts", "PASS TestFoo1 (0.01s)", "331 Password required for bob", "PASS test_a1.py")),
    # Markup
    Rule("xml-named", "secret", "an element whose name ends in a word for a secret",
         rf"(?:<|&lt;)(?:[A-Za-z0-9]{{1,20}}:)?(?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}))(?:[ ][^<>\n]{{1,300}})?(?:>|&gt;)", r"(?P<secret>[^<>&\f]{3,16384})(?:</|&lt;/)", check=is_password, caseless=True, wide=r"(?:<|&lt;)[^<>\n]{1,400}(?:>|&gt;)",
         hits=(f"<clientSecret>{mix(32)}</clientSecret>", '<wsse:Password Type="#PasswordText">T1gerX!9kk</wsse:Password>', "&lt;password&gt;T1gerX!9kk&lt;/password&gt;"),
         misses=("<password>${env.PW}</password>", "<PasswordPolicy>strict</PasswordPolicy>", "<tokenType>bearer</tokenType>", "<label>Password</label>")),
    Rule("argument-pair", "secret", "a name and its value as two arguments of a call",
         rf"[(,][ ]?\\{{0,3}}[\"'](?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}|authorization|_pass)[A-Za-z0-9_]{{0,12}})\\{{0,3}}[\"'][ ]?,[ ]?", rf"[NnbBrR@]?\\{{0,3}}(?P<quote>[\"'])(?:{SCHEME}[ ])?" r"(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){6,4096})", check=is_pair_value, caseless=True, rank=GUESS,
         wide=rf"[(,][ ]?\\{{0,3}}[\"']{ANY_NAME}\\{{0,3}}[\"'][ ]?,",
         hits=("define('DB_PASSWORD', 'T1gerX!9kk');", f'os.environ.setdefault("API_TOKEN", "{mix(30)}")', f"req.setHeader('X-Auth-Token', '{mix(24)}')"),
         misses=("f('password', 'required')", "choice('token', 'refresh_token')", "t('reset_password', 'Reset your password')", 'getenv("TOKEN", "")')),
    # Shapes
    Rule("password-hash", "password-hash", "a hashed password, which can be tried out offline",
         r"\$(?:apr1|[1567y]|2[abxy]|gy|sha1|md5|argon2(?:id|i|d))\$", r"[./A-Za-z0-9$=,+-]{20,400}", rank=SHAPE, fingerprint=False,
         hits=(f"root:$6${mix(16)}${mix(86)}:19000:0:99999:7:::", f"bob:$apr1${mix(8)}${mix(22)}", f"password_hash=$2b$12${mix(53)}"), misses=("cut -f $1$2",)),
    Rule("django-hash", "password-hash", "a hashed password of a web framework",
         r"(?:pbkdf2_sha(?:1|256|512)|pbkdf2:sha(?:1|256|512)(?::[0-9]{1,8})?|scrypt(?::[0-9]{1,8}){0,3}|bcrypt_sha256)\$", r"[./A-Za-z0-9$=,+-]{20,400}", rank=SHAPE, fingerprint=False,
         hits=(f"pbkdf2_sha256$600000${mix(22)}${mix(43)}",), misses=("pbkdf2_sha256$600000",)),
    Rule("ldap-hash", "password-hash", "a hashed password of a directory",
         r"\{(?:S?SHA(?:256|384|512)?|SMD5|MD5|CRYPT|PBKDF2[A-Z0-9-]{0,10})\}", r"[./A-Za-z0-9$=+]{16,400}", rank=SHAPE, fingerprint=False,
         hits=(f"userPassword: {{SSHA}}{mix(32)}",), misses=("{MD5}",)),
    Rule("armour-in-base64", "private-key", "base64 of a private key in armour",
         rf"{_ARMOUR}", "", parts=whole_blob, rank=SHAPE,
         hits=(f"client-key-data: {_CODED}",), misses=("UFJJVkFUR",)),
    Rule("pem-prefixed", "private-key", "a private key of which each line has a log's prefix",
         r"-{5}BEGIN[ ](?:[A-Z0-9]{1,12}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-{5}", "", parts=prefixed_body, rank=SHAPE,
         hits=(f"k[1]: -----BEGIN PRIVATE KEY-----\nk[1]: {mix(64)}\nk[1]: {mix(40)}\nk[1]: -----END PRIVATE KEY-----",)),
    Rule("jwk-private", "private-key", "the private number of a JSON web key",
         r"(?:[\"'\f{,]|[ ])(?:d|p|q|dp|dq|qi|k)\\{0,3}[\"']?[ ]?[:=][ ]?(?:\f|\\{0,3}[\"'])(?P<secret>[A-Za-z0-9_-]{22}", r"[A-Za-z0-9_-]{0,2000})", check=beside_a_key_type, rank=SHAPE,
         hits=(f'{{"kty":"EC","crv":"P-256","x":"{mix(43)}","d":"{mix(43)}"}}', f"kty=\foct\fk=\f{mix(43)}\f"), misses=(f'{{"d":"{mix(43)}"}}',)),
    # Addresses
    Rule("bare-userinfo", "password", "user:password@host without a scheme",
         r"(?:^|[\s\"'=/\f(])[A-Za-z0-9_.+-]{1,64}:[^\s:/@\"'`\f<>]{5}[^\s:/@\"'`\f<>]{0,128}@", r"(?!sha256)(?:(?:tcp|unix)\(|[A-Za-z0-9][A-Za-z0-9.-]*)", parts=userinfo, fingerprint=False, rank=GUESS,
         hits=("DSN=user:T1gerX!9kk@tcp(10.0.0.5:3306)/db", "psexec.py CORP/bob:T1gerX!9kk@10.0.0.5"), misses=("npm:string-width@4.2.3", "nginx:1.25.3-alpine@sha256:abc", "git@github.com:acme/x1@v2", "a:b@c")),
    Rule("webhook-path", "webhook", "an address that whoever knows it may post to",
         r"(?:hooks\.zapier\.com/hooks/catch/[0-9]{1,12}/|maker\.ifttt\.com/trigger/[^/\s]{1,64}/(?:json/)?with/key/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|hc-ping\.com/|events\.pagerduty\.com/(?:integration/|x-ere/)|hooks?\.[a-z0-9-]{1,20}\.(?:make|integromat|celonis)\.com/|outlook\.office(?:365)?\.com/webhook/|api\.opsgenie\.com/v1/json/[^?\s]{1,40}\?apikey=|discord(?:app)?\.com/api/webhooks/[0-9]{10,24}/|chat\.googleapis\.com/v1/spaces/[^/\s]{1,40}/messages\?key=|insights-collector\.newrelic\.com/v1/accounts/|webhooks\.mongodb-stitch\.com/|hooks\.airtable\.com/workflows/v1/genericWebhook/|uptime\.betterstack\.com/api/v1/heartbeat/|cronitor\.link/p/)", r"(?P<secret>[A-Za-z0-9@/_-]{6,400})", rank=SHAPE,
         hits=("https://hooks.zapier.com/hooks/catch/7526747/59j9wbb/", f"https://open.feishu.cn/open-apis/bot/v2/hook/{uuid()}"), misses=("https://hooks.zapier.com/",)),
    Rule("hook-path", "webhook", "a generated part of the path of a hook",
         r"/(?:web)?hooks?/(?:[a-z0-9_-]{1,24}/){0,3}(?P<secret>[A-Za-z0-9_-]{20}", r"[A-Za-z0-9_-]{0,200})(?![A-Za-z0-9_-])", check=is_hook_id, caseless=True, rank=GUESS,
         hits=(f"https://chat.example.com/hooks/{mix(26)}",), misses=("/repo/.git/hooks/pre-commit-checks-for-everything", f"https://api.example.com/hooks/{uuid()}")),
    Rule("deploy-hook", "webhook", "an address that starts a build or takes in logs",
         r"(?:api\.netlify\.com/build_hooks/|api\.vercel\.com/v1/integrations/deploy/[A-Za-z0-9_]{1,40}/|api\.render\.com/deploy/[a-z0-9-]{1,40}\?key=|logs\.[a-z0-9-]{1,20}(?:hq)?\.(?:com|eu)/v1/input/|loggly\.com/inputs/|conda\.anaconda\.org/t/|registry\.terraform\.io/t/|hooks?\.[a-z0-9.-]{1,60}/(?:hooks?|catch|services|workflows|triggers)/)", r"(?P<secret>[A-Za-z0-9/_-]{8,200})", rank=SHAPE,
         hits=(f"https://api.netlify.com/build_hooks/{hexa(24)}", f"https://logs-01.loggly.com/inputs/{uuid()}/tag/x", f"https://conda.anaconda.org/t/{mix(20)}/acme"), misses=("https://api.netlify.com/build_hooks/",)),
    Rule("aws-pair", "secret", "a secret key beside its id",
         r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[ ]?[,:;|\t \f]", r"[ \f]{0,4}[\"']?(?P<secret>[A-Za-z0-9/+]{38,40})(?![A-Za-z0-9/+=])", check=is_mixed, rank=SHAPE,
         hits=(f"bob,,AKIA{'Q7K2M4X3V5B6N2C6'},{mix(40)}",), misses=("AKIA,eu-west-1",)),
    Rule("saml", "authorization", "an assertion of a single sign-on",
         r"(?:SAMLResponse|SAMLart|wresult|id_token_hint)(?:=|%3D|\\{0,3}[\"']?[ ]?:)", r"[ ]?\\{0,3}[\"'\f]?(?P<secret>[A-Za-z0-9+/=%._-]{20,65536})", rank=SHAPE,
         hits=(f"SAMLResponse={mix(80)}",)),
    Rule("token-part", "secret", "one of several tokens that are told together",
         r"(?:^|[^A-Za-z0-9_.-])(?:access|refresh|bearer|jwt|tok|sess)(?:[\"'][ ]?:|=)", r"[ ]?[bB]?\\{0,3}(?:[\"'\f])(?P<secret>[A-Za-z0-9_.~+/-]{24,4096})", check=three_kinds, rank=GUESS,
         hits=(f"Token(access='{mix(40)}', refresh='{mix(40)}')",), misses=("id='aSimpleIdentifierOfSomething'", f"id='{hexa(40)}'")),
    Rule("cookie-jar", "session-cookie", "a line of a cookie file",
         r"\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,128}\t", r"(?P<secret>[^\t\n]{8,4096})", rank=SHAPE,
         hits=(f"x.org\tTRUE\t/\tTRUE\t0\tsessionid\t{mix(32)}",)),
    Rule("form-part", "secret", "a part of a form",
         rf"name=\\{{0,3}}[\"'](?P<key>[A-Za-z0-9_.-]{{0,40}}(?:{PASSWORD_WORDS}|{TOKEN_WORDS}))\\{{0,3}}[\"'](?:[\r\n]|\\{{1,4}}[rn])", r"(?:[\r\n ]|\\{1,4}[rn]){0,6}(?P<secret>[^\r\n\\\f]{3,4096})", check=is_password, caseless=True,
         wide=rf"name=\\{{0,3}}[\"']{ANY_NAME}\\{{0,3}}[\"'](?:[\r\n]|\\{{1,4}}[rn])",
         hits=('Content-Disposition: form-data; name="password"\r\n\r\nT1gerX!9kk',), misses=('name="password"\n\n$PW',)),
    Rule("setter-call", "secret", "the argument of a function that takes a secret",
         rf"(?P<key>[A-Za-z0-9_]{{0,40}}(?:{PASSWORD_WORDS}|secret|token|api_?key))\([ ]?", r"[NnbBrR@]?\\{0,3}(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))[^\n\f\\]){6,4096})", check=is_pair_value, caseless=True, rank=GUESS,
         hits=("u.set_password('T1gerX!9kk')", "SET PASSWORD = PASSWORD('T1gerX!9kk');"), misses=("getToken('refresh')", "get_secret('prod/db-1')", "t.token('abc')")),
    Rule("conf-word", "password", "a word in quotes behind a word of a configuration",
         r"(?:[:\s][ ]?PSK|(?:createUser|usmUser)[ ]\S{1,64}[ ](?:MD5|SHA(?:-?[0-9]{3})?)|[\"'][ ](?:AES|DES)(?:-?[0-9]{3})?|insecure-password|WIFI:[^\n\f]{0,100}?;P:)[ ]?", r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)[^\"'\n\f\\]{6,256}|[^\s\"'`;,\f\\]{6,256}))", check=is_generated_word, fingerprint=False, rank=GUESS,
         hits=(': PSK "T1gerX!9kk"', 'createUser m SHA "T1gerX!9kk" AES "L1onY!8jj"', "WIFI:T:WPA;S:Home;P:T1gerX!9kk;;"), misses=("cipher AES-256-GCM", "mode AES GCM-SHA384_x1")),
    Rule("vpn-inline", "password", "the login of a tunnel",
         r"<auth-user-pass>(?:\s|\\{1,4}[rn]){1,4}[^\s\\]{1,64}(?:\s|\\{1,4}[rn])", r"(?:\s|\\{1,4}[rn]){0,4}(?P<secret>[^\s<\\]{3,256})", fingerprint=False, rank=SHAPE,
         hits=("<auth-user-pass>\nbob\nT1gerX!9kk\n</auth-user-pass>",)),
    Rule("nkey-seed", "private-key", "the seed of a NATS key", rf"{EDGE}(?P<secret>S[UANOCX][A-Z2-7]{{56}}", r")(?![A-Z2-7])", rank=SHAPE,
         hits=("use SU" + "QK2M4X3V5B6N2C6Z5L7PDFGHJTRW" * 2,)),
    Rule("tsig", "secret", "a key of a name server", r"(?:hmac-(?:md5|sha(?:1|224|256|384|512))):[A-Za-z0-9._-]{1,64}:", r"(?P<secret>[A-Za-z0-9+/]{16,200}={0,2})", caseless=True, rank=SHAPE,
         hits=(f"nsupdate -y hmac-sha256:k:{mix(43)}=",)),
    # Names in capitals
    Rule("env-key", "secret", "a generated value behind a variable that ends in _KEY, _PAT or _AUTH",
         r"(?:^|[^A-Za-z0-9_])(?P<key>[A-Z][A-Z0-9_]{1,40}_(?:KEY|PAT|AUTH|SIG|CRED|CREDS|LOGIN|JWT|COOKIE))(?:[\"'][ ]?:|=|:)", r"[ ]?(?:\f|\\{0,3}[\"'])?(?:[A-Za-z0-9_.-]{1,32}:(?=[^/]))?(?P<secret>[A-Za-z0-9+/=_.~!#%^*-]{10,4096})", check=is_hidden_key, rank=GUESS,
         hits=(f"KAGGLE_KEY={hexa(32)}", "AZURE_DEVOPS_EXT_PAT=jcgly5qec8xvuujq83ztombnztwqpos5", "REGISTRY_CREDS=bob:T1gerX!9kk"),
         misses=(f"GPG_KEY={hexa(40).upper()}", f"CACHE_KEY=v2-{hexa(40)}", "SORT_KEY=2026#01", "API_KEY=$KEY", "NODE_AUTH=basic-authentication")),
    Rule("flag-key", "secret", "a generated argument behind a flag that ends in key, auth or pat",
         r"[ \f]--?(?P<key>[A-Za-z0-9_.-]{0,40}(?:key|auth|pat|authorization|jwt|cookie|bearer))[ =\f]", r"[\"']?(?P<secret>[A-Za-z0-9+/=_.~-]{16,4096})", check=is_hidden_key, rank=GUESS,
         hits=(f"netlify deploy --auth {mix(40)}", f"gem\fpush\fa.gem\f--key\f{hexa(48)}\f"), misses=(f"x --key {hexa(40)}", "x --key ~/.ssh/id_ed25519_2024_backup", f"x --public-key {mix(40)}", "x --sort-key created_at_2024")),
    Rule("process-substitution", "secret", "a secret echoed into the place of a file",
         rf"(?:{PASSWORD_WORDS}|key|token|secret|auth|cred\w{{0,8}})[ =\f]<\([ ]?(?:echo|printf)[ ](?:-[a-z]{{1,3}}[ ])?", r"[\"']?(?P<secret>[^\s\"'`)]{6,4096})", check=is_mixed, caseless=True,
         hits=(f"wg set wg0 private-key <(echo {mix(43)}=)",), misses=("x --key <(echo $KEY)",)),
)  # fmt: skip
