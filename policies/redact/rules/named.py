"""Secrets behind a name, a flag or a header that tells what they are."""

from typing import Final

from policies.redact.cookies import cookie_values
from policies.redact.keys import is_random_key, is_service_key
from policies.redact.rule import CONTEXT, GUESS, SHAPE, Rule
from policies.redact.rules.checks import is_hidden_key
from policies.redact.rules.checks_around import is_credential, is_header_value, is_seed
from policies.redact.rules.checks_format import basic_credentials
from policies.redact.rules.grammar import (
    FLAG_VALUE,
    PASSWORD_WORDS,
    SERVICES,
    SIGN,
    TAIL,
    TOKEN_WORDS,
    VALUE,
)
from policies.redact.rules.samples import hexa, mix, uuid
from policies.redact.values import (
    is_argv_password,
    is_argv_token,
    is_flag_password,
    is_flag_token,
    is_mixed,
    is_password,
    is_token,
)

_SCHEME = r"(?:bearer|basic|token|apikey|api-key|key|digest|ssws|negotiate|ntlm|splunk|genie\w*|hmac|bot|oauth|sso-key|aws4-hmac-sha256 credential=)"
# A header may go on in the next line, behind a blank.
_BLANK = r"(?:[ \t\f]|%20|\+|\r?\n[ \t])"
_HEADER_VALUE = r"(?P<secret>[^\s\"'`,;<>&\\\f]{3,16384})"

RULES: Final[tuple[Rule, ...]] = (
    # KEY=value and its many spellings
    Rule("password-by-name", "password", "a value behind a name that means a password",
         rf"(?P<key>{PASSWORD_WORDS}{TAIL})(?:{SIGN}|\.{{4}})", VALUE, check=is_password, caseless=True, fingerprint=False,
         hits=("DB_PASSWORD=monkey1269", '{"password": "winter#597"}', "spring:\n    password: 66BOhLvU!5J+", "MYSQL_PWD=hunter!2009"),
         misses=("PASSWORD_MIN_LENGTH=13", "password=$PASSWORD", "password=********", "password: <your-password>",
                 "PWD=/workspace/app", "CFBundleIdentifier=io.octo.auth.PasswordAutoFill", "Password: \nprompt shown")),
    Rule("pass-by-name", "password", "a value behind the short names pass and pw",
         rf"(?:^|[^A-Za-z]|[a-z])(?P<key>(?:pass|PASS|Pass|pw|PW|otp|OTP|pin|PIN|mfa|MFA)){SIGN}", VALUE, check=is_password, fingerprint=False,
         hits=("DB_PASS=hunter!2009", "smtp.pass=Zx81kk2!"), misses=("PASS=3722 FAIL=4", "bypass=true", "compass: north")),
    Rule("argv-password", "password", "a whole argument behind a name that means a password",
         rf"(?P<key>{PASSWORD_WORDS}{TAIL})=", r"(?P<secret>[^\f]{1,16384})", check=is_argv_password, caseless=True,
         fingerprint=False, hits=("tool\f--password=two words\fx",), misses=("tool\f--password=$PW\fx",)),
    Rule("env-pass", "password", "a variable in capitals that ends in PASS, PW or PSK",
         rf"(?:^|[^A-Za-z0-9_])(?P<key>[A-Z][A-Z0-9_]{{1,40}}(?:PASS|PW|PSK|PASSWD)){SIGN}", VALUE, check=is_password, fingerprint=False,
         hits=("SSHPASS=R00t!2031 sshpass -e ssh h", "export ROOTPW=R00t!2031"), misses=("BYPASS=true1", "COMPASS=n0rth", "TEST_PASS=14", "SSHPASS=$PW")),
    Rule("psk", "password", "the key of a wireless network or tunnel",
         r"(?:^|[^A-Za-z0-9])(?P<key>psk)(?:[\"']?[ \t]{0,3}[=:]|\f)", VALUE, check=is_password, caseless=True, fingerprint=False,
         hits=('psk="summerRain2024"', "wifi-sec.psk: T1gerX!9"), misses=("key_mgmt=WPA-PSK\n", "psk=$PSK")),
    Rule("token-by-name", "secret", "a value behind a name that means a token or key",
         rf"(?P<key>{TOKEN_WORDS}{TAIL}(?:[ ][0-9]{{1,2}})?){SIGN}", VALUE, check=is_token, caseless=True,
         hits=(f"api-key:{mix(36)}", f'token = "{mix(44)}"', f"DD_API_KEY={hexa(32)}", f"\x1b[32mtoken\x1b[0m: \x1b[1m{mix(40)}\x1b[0m"),
         misses=("token_count=4842 cache_key_hits=34", "secret_key=None, config=True", "token := os.Getenv(\"X\")",
                 "arn:aws:secretsmanager:eu-west-1:601617903990:secret:build-K1hxUu", "max_tokens=8736", "secret: (hidden)",
                 "t.token=e.passengerToken}(a,b)", "-[AController handleToken:withSecret:] + 702")),
    Rule("argv-token", "secret", "a whole argument behind a name that means a token",
         rf"(?P<key>{TOKEN_WORDS}{TAIL})=", r"(?P<secret>[^\f]{1,16384})", check=is_argv_token, caseless=True,
         hits=(f"tool\f--api-key={mix(30)} x\fx",)),
    Rule("key-by-name", "secret", "a random value behind a name that ends in key, auth, sig, pat, salt, dsn",
         rf"(?P<key>(?:key|key_base|auth|sig|signature|pat|salt|jwt|bearer|cert_?data|keydata|private|seed|nonce|code|otp|assertion|saml\w*|encrypt|gossip|_session|_session_[a-z0-9]{1,20})){SIGN}", VALUE,
         check=is_random_key, caseless=True, rank=GUESS,
         hits=(f"SIGNING={1}&TLS_KEY={mix(40)}", f'{{"auth": "{mix(40)}"}}'),
         misses=("partition_key=key#2346", "cache-key: linux-node-1f81ef1d42d9a49a3cb97ee6576feb234db5c97f", f"public_key={mix(40)}")),
    Rule("service-key", "secret", "a generated value behind the name of a service",
         rf"(?:^|[^A-Za-z0-9])(?P<key>{SERVICES}(?:[_. -]?(?:com|io|api|app|client|access|secret|auth|personal|service|rest|user))?){SIGN}", VALUE,
         check=is_service_key, caseless=True, rank=GUESS,
         hits=(f"adafruit => {mix(32)}", f"CLOUDFLARE_API: '{mix(37)}'"),
         misses=(f"bitbucket: {hexa(40)}", "discord: 157485796139199682", "sentry: https://sentry.io/x", "box=3fa94c1d-22b0-4e58-86af-10c9d4b1e277")),
    # Flags and their arguments
    Rule("flag-password", "password", "--password X",
         rf"--?[A-Za-z0-9_.-]{{0,40}}(?P<key>(?:{PASSWORD_WORDS}|pass){TAIL}|pw)[ \f]", FLAG_VALUE,
         wide=rf"(?:(?:{PASSWORD_WORDS}|pass){TAIL}|pw)[ \f]",
         check=is_flag_password, caseless=True, fingerprint=False,
         hits=("mysqldump --password qwerty_896 shop", "tool\f--password\fqwerty_896\fshop", "tool\f--password\f=\f*i0Ztxn4p57"),
         misses=("gpg --passphrase-fd 0 -d x", "docker login --password-stdin link.example.com", "python build.py --pass 2",
                 "usage: x --api-key KEY --password PASSWORD", "tool --password --wait")),
    Rule("flag-token", "secret", "--token X",
         rf"--?[A-Za-z0-9_.-]{{0,40}}(?P<key>{TOKEN_WORDS}{TAIL})[ \f]", FLAG_VALUE,
         wide=rf"{TOKEN_WORDS}{TAIL}[ \f]",
         check=is_flag_token, caseless=True,
         hits=(f"mycli sync --api-key {mix(40)} --verbose", f"az\f--account-key\f{mix(30)}\fx"),
         misses=("kubectl --token-file /var/run/secrets/x get token", "--token <token> --model", "git commit --secret-scanning enabled")),
    # Headers
    Rule("authorization", "authorization", "Authorization in any case and scheme",
         r"authorization(?:\\{0,3}[\"'])?\]?[ \t]{0,3}(?:[:=]|%3A|\fvalue=\f|\f|[ ]\\{0,3}[\"'])", rf"{_BLANK}{{0,4}}(?:-H{_BLANK}+|--header{_BLANK}+)?(?:\\{{0,3}}[\"'])?(?:{_SCHEME}{_BLANK}+|[a-z][a-z0-9-]{{1,30}}[ \t]+(?!https?:|-)(?=[a-z0-9+/=._~:-]{{16}}))?(?:token=)?(?:[a-z0-9_.-]{{1,64}}:(?=[a-z0-9+/]{{16}}))?{_HEADER_VALUE}",
         check=is_credential, caseless=True, rank=SHAPE,
         hits=(f"AUTHORIZATION: BEARER {mix(40)}", f"Proxy-Authorization: Basic {mix(16)}", f"curl\f-H\fAuthorization:\f-H\fBearer {mix(30)}", f"curl\f-H\fAuthorization: {mix(28)}\fhttps://h.example/x"),
         misses=("Authorization: Bearer $TOKEN", "Authorization: Bearer ${{ secrets.X }}", "Authorization: Bearer [REDACTED] x")),
    Rule("authorization-parts", "signature", "the proof in an Authorization header of several parts",
         r"authorization[^\n\f]{0,400}[ ,](?:signature|response|mac|oauth_signature|oauth_token)=", r"\\{0,3}[\"']?(?P<secret>[A-Za-z0-9+/=%_-]{8,4096})", caseless=True, rank=SHAPE,
         hits=(f"Authorization: AWS4-HMAC-SHA256 SignedHeaders=host, Signature={hexa(64)}", f'authorization: Digest username="x", response="{hexa(32)}"')),
    Rule("bearer", "authorization", "a bearer token outside of a header",
         r"(?:^|[^A-Za-z])(?:bearer|access_token)(?:[ \f+]|%20|\r?\n[ \t]|[\"']?,)", r"[ \t\f]*[\"']?(?P<secret>[A-Za-z0-9._~+/=%-]{16,16384})", check=is_mixed, caseless=True, rank=CONTEXT,
         hits=(f"cb?auth=Bearer%20{mix(40)}", f"sent Bearer {mix(40)}"), misses=("bearer authentication-is-required-here",)),
    Rule("basic", "authorization", "basic credentials",
         r"(?:^|[^A-Za-z])basic(?:[ \f+]|%20|\r?\n[ \t])", r"[ \t\f]*(?P<secret>[A-Za-z0-9+/]{6,16384}={0,2})", check=basic_credentials, caseless=True, rank=SHAPE,
         hits=("AUTHORIZATION: basic ZGVwbG95OjJQMnhPSmt1Wnc0",), misses=("basic information about",)),
    Rule("key-header", "secret", "a header that carries a key",
         r"(?:^|[^A-Za-z0-9/]|\\[nr])(?:x-[a-z0-9-]{0,30}(?:key|token|secret|auth|signature|password)|private-token|job-token|dd-api-key|dd-application-key|ocp-apim-subscription-key|xi-api-key|x-goog-api-key|cf-access-client-secret|x-functions-key|x-master-key|apikey|api-key|x-jfrog-art-api|x-vercel-protection-bypass|x-origin-verify|x-honeycomb-team|x-registry-config|fastly-key|rest-key|jenkins-crumb)(?:(?:\\{0,3}[\"'])?[ \t]?:|\fvalue=\f|=?\f|=\[)",
         rf"[ \t\f]{{0,4}}(?:(?:-H|--header)[ \f]+)?(?:\[\]string\{{|\[[ ]?)?(?:\\{{0,3}}[\"'])?{_HEADER_VALUE}", check=is_header_value, caseless=True,
         hits=(f"X-Api-Key: {mix(30)}", f"PRIVATE-TOKEN: {mix(20)}", f"x-amz-security-token: {mix(80)}", f"Host\fh.example.com\fX-Api-Key\f{hexa(32)}\f", f"map[X-Api-Key:[{mix(32)}]]", f'{{"X-Exa-Key":"{uuid()}"}}', f"-H X-JFrog-Art-Api: {mix(40)}"), misses=("x-api-key: ${KEY}", "x-api-key\fx-request-id\f", "svc.api-key:17|c")),
    Rule("cookie", "session-cookie", "a cookie that opens a session",
         r"(?:cookie2?(?:(?:\\{0,3}[\"'])?[ \t]{0,3}(?:[:=]|\fvalue=\f)|\\{0,3}[\"'](?:>>)?[ ]?,|\f)|<Cookie[ ])", r"[ ]?(?:<<)?[bBuU]?\\{0,3}[\"'`]?(?P<secret>[^\n\f\"'`]{3,16384})",
         parts=cookie_values, caseless=True, rank=GUESS,
         hits=(f"Cookie: theme=dark; sessionid={mix(32)}", f"Set-Cookie: connect.sid=s%3A{mix(32)}; Path=/"), misses=("Cookie: theme=dark; lang=en",)),
    # Seeds and codes
    Rule("mnemonic", "seed-phrase", "the words of a wallet",
         r"(?:mnemonic|paper[-_ ]?key|(?:seed|recovery|backup)[-_ ]?(?:phrase|words)|wallet[-_ ]seed)", r"[\"']?(?:[ ]{0,2}\([^()\n]{1,60}\))?(?:[^A-Za-z\n]{0,12}(?:(?:is|words?)[ :])?|[ ]?:[ \t]{0,4}(?:\r?\n|\\{1,2}n)[ \t>|]{0,8})[\"']?(?P<secret>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})", caseless=True, rank=SHAPE,
         hits=("mnemonic: abandon ability able about above absent absorb abstract absurd abuse access accident",), misses=("mnemonic: not set",)),
    Rule("otp-flag", "one-time-code", "a one-time code behind a flag",
         r"--?(?:otp|totp|mfa|2fa|mfa-code|otp-code|token-code|auth-code)[ =\f]", r"(?P<secret>[0-9]{6,8})(?![0-9])", fingerprint=False, rank=SHAPE,
         hits=("npm publish --otp 493021",), misses=("x --otp ask",)),
    Rule("otp-seed", "totp-secret", "the seed of one-time passwords",
         r"(?:otpauth://[^\s\"'\f]{0,200}[?&]secret=|oathtool[ \f][^|\n]{0,60}(?:-b|--base32)[ \f]|oath[ \f](?:accounts[ \f])?add[ \f])", r"(?:(?<=add[ \f])(?:[^\s|;&]{1,80}[ \f]){0,8}?(?=[A-Z2-7]{16}))?(?P<secret>[A-Za-z2-7]{4}(?:[ ]?[A-Za-z2-7=]{2,4}){3,40})", rank=SHAPE,
         hits=("ykman oath accounts add -o TOTP GitHub:ci B3FKBEXYEZ4FYPR5A6BJUM45GNASQQ6I", "oathtool --totp -b B3FKBEXYEZ4FYPR5A6BJUM45GNASQQ6I", "otpauth://totp/x?secret=B3FKBEXYEZ4FYPR5A6BJUM45")),
    Rule("otp-seed-name", "totp-secret", "the seed of one-time passwords behind a name for it",
         rf"(?:otp|mfa|2fa|(?:2|two|second)[-_ ]?factor|authenticator|google[-_]?auth|base32)[-_. ]?(?:auth[-_. ]?)?(?:(?:string|shared)[-_. ]?)?(?:secret|seed|key)?(?:[-_]?base32)?(?:{SIGN}|[ \f])", r"[ \t]{0,4}\f?\\{0,3}[\"']?(?P<secret>(?-i:[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{2,4}){3,30}|[a-z2-7]{4}(?:[ -]?[a-z2-7]{4}){3,30})={0,6})(?![A-Za-z0-9])", check=is_seed, caseless=True, rank=SHAPE,
         hits=("digits=6 otp_seed=VZBCCIV5CMI7KOYR2BKLI7FIKFXFXGVS label=vpn", '"totpKey": "B3FKBEXYEZ4FYPR5"', "mfa-seed=\fB3FK BEXY EZ4F YPR5\f"), misses=("totp=REQUIRED_FOR_ADMINS", "otp: code sent from 2222", "mfa: AUTHENTICATORREQUIRED")),
    # Names in capitals
    Rule("env-keystore", "private-key", "a store of keys in base64 behind the name of a variable for one",
         r"(?:BUILD_CERTIFICATE|[A-Z0-9_]{0,40}(?:P12|PFX|PKCS12|KEYSTORE|JKS|(?:SIGNING|DISTRIBUTION|DIST|MACOS|DEVELOPER|INSTALLER)_CERT(?:IFICATE)?))(?:_(?:BASE64|B64|DATA|CONTENTS?))?(?:[\"'][ ]?:|=|:)", r"[ ]?(?:\f|\\{0,3}[\"'])?(?P<secret>[A-Za-z0-9+/]{40,65536}={0,2})(?![A-Za-z0-9+/_-])", rank=GUESS,
         hits=(f"BUILD_CERTIFICATE_BASE64=MII{mix(60)}", f"ANDROID_KEYSTORE_B64: {mix(80)}=="), misses=("KEYSTORE=/workspace/app/release.jks", "P12_BASE64=$P12", "BUILD_CERTIFICATE_BASE64=")),
    Rule("env-key", "secret", "a generated value behind a variable that ends in _KEY, _PAT or _AUTH",
         r"(?:^|[^A-Za-z0-9_])(?P<key>[A-Z][A-Z0-9_]{1,40}_(?:KEY|PAT|AUTH|SIG|CRED|CREDS|LOGIN|JWT|COOKIE|SESSION|DSN)(?:_[A-Za-z0-9]{1,20})?)(?:[\"'][ ]?:|=|:)", r"[ ]?(?:\f|\\{0,3}[\"'])?(?:[A-Za-z0-9_.-]{1,32}:(?=[^/])|neo4j/)?(?P<secret>[A-Za-z0-9+/=_.~!#%^*-]{10,4096})", check=is_hidden_key, rank=GUESS,
         hits=(f"KAGGLE_KEY={hexa(32)}", "AZURE_DEVOPS_EXT_PAT=jcgly5qec8xvuujq83ztombnztwqpos5", "REGISTRY_CREDS=bob:T1gerX!9kk"),
         misses=(f"GPG_KEY={hexa(40).upper()}", f"CACHE_KEY=v2-{hexa(40)}", "SORT_KEY=2026#01", "API_KEY=$KEY", "NODE_AUTH=basic-authentication")),
)  # fmt: skip
