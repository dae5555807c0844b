"""Commands that take a secret by its place, from a pipe, or to write it somewhere."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.cookies import cookie_values
from policies.redact.generated import random_looking
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.harmless.words import PROSE
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.checks import (
    is_hidden_key,
    is_likely,
    is_marked_word,
    is_strong_password,
    is_windows_argument,
)
from policies.redact.rules.checks_around import is_command_secret, is_flag_word, is_piped
from policies.redact.rules.grammar import ARGUMENT, PASSWORD_WORDS, TOKEN_WORDS
from policies.redact.rules.samples import hexa, mix
from policies.redact.rules.tools import START
from policies.redact.values import (
    is_argument,
    is_generated_word,
    is_mixed,
    is_mixed_word,
    is_opaque,
    is_password,
    is_token,
)

_B = r"[ \f]"
_WORD = r"[^ \f\n]{1,200}"
# Flags, with or without a value, between a command and what it takes by place.
_FLAGS = rf"(?:{_B}--?[A-Za-z][A-Za-z0-9-]*(?:=[^ \f\n]*)?){{0,4}}"
_VALUE = r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{3,4096}|(?![-$])[^\s\"'`\f|;&]{3,4096}))"

# `--name /prod/db_password`: what the value is to be called.
_NAMES_IT: Final = re.compile(
    r"[ \f]--?(?:name|key|id|secret|(?:secret|parameter|setting|variable|env|key)-?(?:name|id)|var|n)(?:=|[ \f])"
    r"[\"']?(?P<name>[^\s\"'\f|;&]{0,120}(?i:pass|pwd|secret|token|key|cred)[A-Za-z0-9_./-]{0,40})(?=[\"'\s\f]|\Z)"
)
_COMMAND: Final = re.compile(r"[\n|;&]")
_COMMAND_CHARS: Final = 400


def _is_named_value(match: re.Match[str]) -> bool:
    """A value, if another flag of the same command names a secret: of keys only a made one."""
    before = match.string[max(0, match.start() - _COMMAND_CHARS) : match.start()]
    after = match.string[match.end() : match.end() + _COMMAND_CHARS]
    command = _COMMAND.split(before)[-1] + " " + _COMMAND.split(after)[0]
    found = _NAMES_IT.search(command)
    if found is None or not names_a_secret(found["name"].rpartition("/")[2]):
        return False
    if re.search("(?i)pass|pwd", found["name"]):
        return is_mixed_word(match) and is_argument(match)
    return is_generated_word(match) or random_looking(match[SECRET])


# Commands whose next word is the secret, whatever it looks like.
_PLAIN: Final = "|".join((
    rf"net{_B}user(?:{_B}/(?:add|domain))?{_B}[^/ \f\n][^ \f\n]{{0,199}}(?:{_B}/(?:add|domain))?",
    rf"bw{_B}(?:unlock|login{_B}{_WORD})",
    rf"radtest{_B}{_WORD}",
    rf"isql(?:{_B}-[a-z]{{1,12}}){{0,4}}{_B}{_WORD}{_B}{_WORD}",
    rf"cf{_B}auth{_B}{_WORD}",
    rf"db2{_B}[^\n|;&]{{0,80}}?connect{_B}to{_B}{_WORD}{_B}user{_B}{_WORD}{_B}using",
    rf"user\.setpassword{_B}{_WORD}",
    rf"defaults{_B}write{_B}{_WORD}{_B}[A-Za-z0-9_.-]*(?:[Pp]assword|[Tt]oken|[Ss]ecret|[Aa]pi[Kk]ey){_B}(?:-string|-data)",
    rf"vault{_B}operator{_B}(?:unseal|rekey|generate-root)(?:{_B}-[^ \f\n]{{1,200}})?",
    rf"confluent{_B}api-key{_B}store{_B}{_WORD}",
    rf"ansible-vault{_B}encrypt_string",
    rf"ngrok{_B}(?:config{_B}add-authtoken|authtoken)",
    rf"(?:doctl|supabase|turso|snyk){_B}(?:auth{_B})?(?:init|login){_B}(?:--context{_B}{_WORD}{_B})?(?:-t|--access-token|--token)",
    rf"cloudflared{_B}service{_B}install",
    rf"(?:npm|pnpm|yarn){_B}(?:config{_B})?set{_B}[^ \f\n]{{0,200}}(?:_authToken|_password|_auth|AuthToken|AuthIdent)",
    rf"poetry{_B}config{_B}pypi-token\.[A-Za-z0-9_-]{{1,64}}",
    rf"nuget{_B}(?:push{_B}{_WORD}|setapikey)",
    rf"dotnet{_B}user-secrets{_B}set{_B}{_WORD}",
    rf"pulumi{_B}config{_B}set{_B}(?:--secret{_B}{_WORD}|{_WORD}{_B}--secret)",
    rf"(?:netlify|ntl|convex|amplify|eb|now){_B}env:?{_B}?set{_B}[A-Z0-9_]{{0,60}}(?:PASSWORD|PASSWD|SECRET|TOKEN|_KEY|_PASS|_PAT|CREDENTIALS?)",
    rf"(?:wp|drush){_B}user{_B}(?:reset-password|password){_B}{_WORD}",
    rf"occ{_B}user:resetpassword",
    rf"git{_B}config{_B}[^\n|;&]{{0,60}}?(?:sendemail\.smtppass|github\.token|gitlab\.token|user\.password)",
    rf"(?:consul|nomad){_B}acl{_B}(?:bootstrap|token{_B}set)",
    rf"jq{_B}[^\n|;&]{{0,100}}?--arg{_B}[a-z_]{{0,20}}(?:pw|pass|pwd)",
    rf"mosquitto_passwd{_B}-b{_B}{_WORD}{_B}{_WORD}",
    rf"ConvertTo-SecureString(?:{_B}-String)?",
    rf"openssl{_B}passwd{_B}-(?:[0-9]|apr1)(?:{_B}-salt{_B}{_WORD})?",
    rf"(?:smbpasswd{_B}-U{_B}{_WORD}|sendemail{_B}[^\n|;&]{{0,200}}?-xp)",
    rf"grafana-cli{_B}admin{_B}reset-admin-password",
    rf"cryptsetup{_B}[^\n|;&]{{0,80}}?--passphrase",
    rf"kadmin(?:\.local)?{_B}[^\n|;&]{{0,60}}?-pw",
    rf"samba-tool{_B}user{_B}(?:create|add){_B}{_WORD}",
    rf"samba-tool{_B}user{_B}setpassword{_B}{_WORD}{_B}--newpassword=?",
    rf"(?:minikube|multipass){_B}(?:authenticate|set{_B}local\.passphrase)",
))  # fmt: skip

# Commands that may take a name there as well: only what a generator wrote.
_LIKELY: Final = "|".join((
    rf"cargo{_B}login(?:{_B}--registry{_B}{_WORD})?(?:{_B}--)?",
    rf"snmp[a-z]{{1,10}}{_B}[^\n|;&]{{0,100}}?-c",
    rf"(?:cargo|vault|snyk|flyctl|wandb|huggingface-cli|hf|railway|dotenv-vault|nx-cloud|rclone|modal|doppler|infracost|checkly){_B}(?:auth{_B})?(?:login|auth|token)",
    rf"(?:wandb|snyk|flyctl|huggingface-cli|hf|railway|render|turso|kaggle|comet|neptune){_B}(?:auth{_B})?(?:login|auth){_FLAGS}",
    rf"snyk{_B}config{_B}set{_B}(?:api|token)",
    rf"mkpasswd(?:{_B}-[A-Za-z]{_B}{_WORD})?",
    rf"aws{_B}ssm{_B}put-parameter{_B}[^\n|;&]{{0,300}}?{_B}--value",
    rf"(?:keyctl{_B}(?:add|padd){_B}{_WORD}{_B}{_WORD}|secret-tool{_B}store{_B}{_WORD})",
    rf"az{_B}keyvault{_B}secret{_B}set{_B}[^\n|;&]{{0,300}}?--value",
    rf"(?:firebase|eas|expo){_B}[^\n|;&]{{0,80}}?--token",
    rf"(?:vercel|doctl|doppler|github_changelog_generator|gren|ghr)(?:@[a-z0-9.]{{1,12}})?(?:{_B}[^\n|;&]{{0,300}}?)?{_B}-t",
    rf"op{_B}item{_B}(?:create|edit){_B}[^\n|;&]{{0,300}}?(?:password|credential)(?:\[[a-z]{{1,12}}\])?=",
))  # fmt: skip

_GROUP_CHARS: Final = 600
_GROUP_START: Final = re.compile(r"[({][ \t]{0,4}(?=(?:echo|printf|sleep|cat|yes)[ ])")
_SPOKEN: Final = re.compile(
    r"(?:[({;&]|\n)[ \t]{0,4}(?:echo|printf)[ ](?:-[a-z]{1,3}[ ])?(?:\\{0,3}[\"']?%s(?:\\{1,2}n)?\\{0,3}[\"']?[ ])?"
    r"(?:\\{0,3}(?P<q>[\"'])(?P<quoted>(?:(?!(?P=q))[^\n\f\\]){3,256})|(?P<bare>[^\s\"'`|;&)$\f\\]{3,256}))"
)


def _spoken(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Every line of a group of commands that answers a tool which asks for a password twice."""
    text, low = match.string, max(0, match.start() - _GROUP_CHARS)
    begins = [found.start() for found in _GROUP_START.finditer(text, low, match.start())]
    for found in _SPOKEN.finditer(text, begins[-1], match.start() + 1) if begins else ():
        group = "quoted" if found["q"] else "bare"
        if not placeholder(found[group]) and found[group].lower() not in PROSE:
            yield found.span(group)


def _is_put(match: re.Match[str]) -> bool:
    """What is put in the place of a stand-in: generated, or with a digit behind a password's name."""
    if re.search(r"[\\()\[\]*]", match[SECRET]) or not is_mixed_word(match):
        return False
    told = re.search(r"(?i)pass|pw", match[0][: -len(match[SECRET])])
    return (
        is_generated_word(match)
        or random_looking(match[SECRET], 20)
        or bool(told and is_marked_word(match))
    )


_ECHOED: Final = re.compile(
    r"(?:echo|printf)[ \f](?:-[a-z]{1,3}[ ])?(?:[\"']?%s(?:\\n)?[\"']?[ ])?\\{0,3}[\"']?"
    r"(?P<secret>[^\s\"'`|;&<>$(){}\\]{6,4096})\\{0,3}[\"']?[ ]{0,2}>{1,2}[ ]?(?P<file>\S{0,160})"
)


def _written(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The only word that is written, if it is no message."""
    found = _ECHOED.match(match.string, match.start())
    if found is None or not is_mixed_word(found) or "=" in found[SECRET][:-2]:
        return
    told = re.search(r"(?i)pass|secret|pw", found["file"])
    long = random_looking(found[SECRET], 16)
    if long or is_generated_word(found) or (told and is_marked_word(found)):
        yield found.span(SECRET)


_WINDOW_CHARS: Final = 2_000


def _flagged(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What opens a session behind a flag; -b means that to a client of HTTP only."""
    found = list(cookie_values(match))
    if found and match[0].lstrip().startswith("-b"):
        start = match.start()
        if not any(
            match.string.rfind(tool, max(0, start - _WINDOW_CHARS), start) >= 0 for tool in _CLIENTS
        ):
            return
    yield from found


_CLIENTS: Final = ("curl", "http", "wget", "hey", "ab ", "ab\f", "xh", "oha", "sqlmap", "hurl")

RULES: Final[tuple[Rule, ...]] = (
    Rule("aws-configure", "secret", "aws configure set",
         rf"(?:configure|config)[ \f]set[ \f][A-Za-z0-9_.-]{{0,40}}(?P<key>(?:{PASSWORD_WORDS}|{TOKEN_WORDS}))", ARGUMENT, check=is_token, caseless=True, wide=r"(?:configure|config)[ \f]set[ \f]",
         hits=(f"aws\fconfigure\fset\faws_secret_access_key\f{mix(40)}",), misses=("git config set token.helper x",)),
    Rule("plutil", "password", "a value put into a property list",
         rf"-(?:replace|insert)[ \f][^ \f\n]{{0,64}}(?P<key>{PASSWORD_WORDS}|{TOKEN_WORDS})[^ \f\n]{{0,16}}[ \f]-string[ \f]", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{1,512}|[^\s\"'`\f]{1,512}))", check=is_password, caseless=True, fingerprint=False,
         wide=r"-(?:replace|insert)[ \f]",
         hits=("plutil -replace Password -string T1gerX!9 a.plist",), misses=("plutil -replace PasswordFile -string x1 a",)),
    Rule("pipe-password", "password", "a password echoed into a tool that asks for it",
         r"(?:echo|printf|yes)[ \f](?:-[a-z]{1,3}[ \f])?(?:['\"]?%s(?:\\{1,2}n)?['\"]?[ ])?", r"(?P<quote>\\{0,3}[\"'])?(?:[A-Za-z0-9_.-]{1,32}:(?=[^\n|]{1,512}\|[ ]?(?:sudo[ ])?chpasswd))?(?P<secret>(?(quote)[^\"'\n\f]{3,512}|[^\s\"'`|;&]{3,512}))\\{0,3}[\"']?[ \f]*\|[ \f]*(?:sudo[ ]+(?:-\w+[ ]+)*-S|(?:sudo[ ]+(?:-\w+[ ]+){0,4})?(?:chpasswd|passwd\b)|docker login[^\n]*?--password-stdin|(?:gh|glab) auth login[^\n]*?--(?:with-token|stdin)|(?:vnc|smb|ch)?passwd\b|cryptsetup|ssh-add|kinit|gpg[^\n]*?--passphrase-fd|podman login|skopeo login|helm registry login|openssl[^\n]*?stdin|keepassxc-cli|veracrypt|htpasswd[^\n|]{0,80}?[ \f]-[A-Za-z]{0,6}i|[^\n|]{1,200}?(?:stdin-?pass|(?:pass(?:w(?:or)?d|phrase|code)?|pw|pin|token|secret|key|credentials?)(?:-[a-z]{1,8}){0,2}-stdin|pass(?:word|phrase)?-fd|-pass(?:in|out)?[ =\f]stdin|pass(?:w(?:or)?d|phrase)[^\n|]{0,80}[ \f]--?stdin)|[^\n|;&]{1,200}?[ \f]--stdin(?=[ \f\"'\\]|$))", check=is_piped, fingerprint=False,
         hits=("echo hunter2x | sudo -S apt update", "bash\f-c\fecho 'k3ks!x' | docker login -u x --password-stdin"), misses=("echo done | sudo tee /x", "echo $PW | sudo -S ls")),
    Rule("here-string", "password", "what a tool that asks for a password gets instead of typing",
         r"(?:kinit|sudo[ ][^\n|;&]{0,40}-S|passwd|chpasswd|cryptsetup|login|ssh-add|gpg|openssl|smbpasswd|vncpasswd|fdesetup|hdiutil|diskutil|security|(?:secrets?|env|variable)[ ](?:set|put|create|add|update|versions[ ]add))[^\n|;&]{0,200}?<<<[ ]?", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{3,512}|[^\s\"'`|;&]{3,512}))", check=is_opaque, fingerprint=False,
         hits=("kinit bob@EXAMPLE.NET <<< Wint3r!Storm", "docker login -u b --password-stdin <<<'Wint3r Storm'"), misses=("kinit bob <<< $PW",)),
    Rule("password-command", "password", "a command that prints a password",
         r"--?[a-z-]{0,20}pass(?:word)?-?(?:command|cmd)[ =\f][\"']?(?:echo|printf)[ ]", r"(?P<secret>[^\s\"'`\f]{3,512})", check=is_opaque, caseless=True, fingerprint=False,
         hits=('restic backup --password-command "echo T1gerX9"',), misses=('borg x --password-command "pass show borg"',)),
    Rule("flag-key", "secret", "a generated argument behind a flag that ends in key, auth or pat",
         r"[ \f]--?(?P<key>[A-Za-z0-9_.-]{0,40}(?:key|auth|pat|authorization|jwt|cookie|bearer|session|ticket|assertion))[ =\f]", r"[\"']?(?P<secret>[A-Za-z0-9+/=_.~-]{16,4096})", check=is_hidden_key, rank=GUESS,
         hits=(f"netlify deploy --auth {mix(40)}", f"gem\fpush\fa.gem\f--key\f{hexa(48)}\f"), misses=(f"x --key {hexa(40)}", "x --key ~/.ssh/id_ed25519_2024_backup", f"x --public-key {mix(40)}", "x --sort-key created_at_2024")),
    Rule("process-substitution", "secret", "a secret echoed into the place of a file",
         rf"(?:{PASSWORD_WORDS}|key|token|secret|auth|cred\w{{0,8}})(?:-file)?[ =\f]<\([ ]?(?:echo|printf)[ ](?:-[a-z]{{1,3}}[ ])?", r"[\"']?(?P<secret>[^\s\"'`)]{6,4096})", check=is_mixed, caseless=True,
         hits=(f"wg set wg0 private-key <(echo {mix(43)}=)",), misses=("x --key <(echo $KEY)",)),
    Rule("command-secret", "secret", "what a command takes as its secret by place",
         rf"{START}(?:{_PLAIN}){_B}", _VALUE, check=is_command_secret, fingerprint=False,
         hits=("net user bob T1gerX!9kk /add", "vault operator unseal Q7T6c+A5LEgRuiVXV", "doctl auth init -t b371a1c15d4ee54146", "npm\fconfig\fset\f//registry.npmjs.org/:_authToken\fabc12345\f"),
         misses=("net user bob /delete", "net user bob /active:yes", "vault operator unseal $KEY", "npm config set registry https://x.org")),
    Rule("command-likely", "secret", "what a command may take as its secret by place",
         rf"{START}(?:{_LIKELY})(?:{_B}|(?:=))", _VALUE, check=is_likely, fingerprint=False, rank=GUESS,
         hits=("cargo login bu8rL0jA7rWfNQrLiV", "vault login 3IGt2CyraxVexvQq3d2N", "aws ssm put-parameter --name /a --type SecureString --value T1gerX!9kk"),
         misses=("vault login -method=oidc", "cargo login --registry crates-io", "aws ssm put-parameter --name /a --value plain-text")),
    Rule("command-userinfo", "password", "user:password before a host, as tools that try logins take it",
         rf"{START}(?:secretsdump|(?:ps|wmi|smb|at|dcom)exec|Get(?:UserSPNs|NPUsers|ADUsers)|lookupsid|samrdump|smbclient|mssqlclient|rpcdump|ticketer|reg|impacket-[A-Za-z]{{2,24}})(?:\.py)?{_B}[^\n|;&]{{0,200}}?[A-Za-z0-9_.$-]{{1,64}}:", r"(?P<secret>[^\s\"'`@\f/]{3,256})@", check=is_argument, fingerprint=False,
         hits=("secretsdump.py corp/bob:T1gerX!9kk@10.0.0.5", "impacket-psexec 'corp/bob:T1gerX!9kk@10.0.0.5'"), misses=("secretsdump.py corp/bob:$PW@10.0.0.5", "secretsdump.py -k -no-pass corp/bob@h")),
    Rule("command-digest", "password", "the login that a client of ZooKeeper adds",
         rf"addauth{_B}digest{_B}[\"']?[^\s:\"']{{1,64}}:", r"(?P<secret>[^\s\"'`\f]{3,256})", check=is_argument, fingerprint=False,
         hits=("zkCli.sh addauth digest bob:T1gerX9kk",), misses=("addauth digest bob:$PW",)),
    Rule("command-named-value", "secret", "the value behind one flag, where another flag names a secret",
         rf"{_B}--?(?:value|secret-string|secret-value|string-value|plain-?text(?:-value)?|body|data)(?:=|{_B})", _VALUE, check=_is_named_value, fingerprint=False, rank=GUESS,
         hits=("aws ssm put-parameter --name /prod/db_password --type SecureString --value letmein.5848", "az keyvault secret set --vault-name v --name db-password --value T1gerX!9kk", "x put --value\fq9Wm3Zx8Lk2V\f--name\fapi-token"),
         misses=("aws ssm put-parameter --name /prod/db_host --value db-1.example.com", "aws ssm put-parameter --name /a/db_password --value $PW", "curl --data a=b3 --name token-list https://x", "x set --name token-ttl --value 3600s")),
    Rule("command-two", "password", "two passwords in a row",
         rf"{START}(?:qpdf{_B}[^\n|;&]{{0,100}}?--encrypt|mysqladmin{_B}[^\n|;&]{{0,100}}?{_B}password){_B}", r"(?P<secret>(?![-$])[^\s\"'`\f|;&]{3,256}(?:[ \f](?![-$])[^\s\"'`\f|;&]{6,256})?)(?=[ \f]|$)", check=is_argument, fingerprint=False,
         hits=("qpdf --encrypt T1gerX!9kk L1onY!8jj 256 -- a.pdf b.pdf",), misses=("qpdf --encrypt --user-password= x",)),
    Rule("command-htpasswd", "password", "the password that htpasswd takes last, its flags apart",
         rf"{START}htpasswd{_FLAGS}{_B}-[A-Za-z]{{0,6}}[bn]", r"[A-Za-z]{0,6}(?:[ \f]-[A-Za-z0-9]{1,8}){0,4}(?:[ \f](?!-)[^\s]{1,512}){1,2}[ \f](?P<secret>[^\s\"'`\f]{4,512})(?=[\s\f\"']|$)", check=is_mixed_word, fingerprint=False,
         hits=("htpasswd -b -B /etc/nginx/.ht bob T1gerX!9kk",), misses=("htpasswd -n bob",)),
    Rule("command-slash-flag", "password", "/p:X and -p:X, as tools of Windows take it",
         rf"{_B}[/-](?:p|pass|password|pwd|pw|rp|passwd):", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{3,256}|[^\s\"'`\f]{3,256}))", check=is_windows_argument, caseless=True, fingerprint=False,
         hits=("xfreerdp /v:10.0.0.5 /u:bob /p:T1gerX!9kk", "cmdkey /add:srv /user:bob /pass:T1gerX!9kk"), misses=("msbuild /p:Configuration=Release /t:Build", "dotnet build -p:Version=1.2.3")),
    Rule("command-slash-word", "password", "/p X, as signtool takes it",
         rf"{START}(?:signtool(?:\.exe)?|schtasks|psexec(?:64)?(?:\.exe)?|wmic|runas|certutil|sqlcmd){_B}[^\n|;&]{{0,300}}?{_B}/(?:p|rp|password){_B}", _VALUE, check=is_argument, caseless=True, fingerprint=False,
         hits=("signtool sign /f cert.pfx /p T1gerX!9kk /fd sha256 app.exe",), misses=("signtool sign /f a.pfx /p %PW% x.exe",)),
    Rule("command-comma-pair", "password", "user,password behind -u",
         rf"{START}(?:lftp|mirror){_B}(?:[^\n|;&]{{0,100}}?{_B})??-u{_B}[^\s,\"']{{1,64}},", r"(?P<secret>[^\s\"'`,\f]{3,256})", check=is_argument, fingerprint=False,
         hits=("lftp -u bob,T1gerX!9kk sftp://h",), misses=("lftp -u bob,$PW sftp://h",)),
    Rule("command-cert-pair", "password", "a certificate and its password behind a flag",
         rf"{_B}(?:-E|--cert|--key|--proxy-cert){_B}[^\s:\"']{{1,200}}\.(?:pem|p12|pfx|crt|cer|key):", r"(?P<secret>[^\s\"'`\f]{3,256})", check=is_argument, fingerprint=False,
         hits=("curl --cert client.pem:T1gerX!9kk https://x",), misses=("curl --cert client.pem:$PW https://x",)),
    Rule("command-old-new", "password", "the old password behind -o, the new behind -p",
         rf"{START}security{_B}set-keychain-password{_B}(?:[^\n|;&]{{0,100}}?{_B})??-o{_B}", _VALUE, check=is_argument, fingerprint=False,
         hits=("security set-keychain-password -o oldPw!1 -p newPw!22 login.keychain",), misses=("security set-keychain-password -o $A -p $B x",)),
    Rule("short-flag", "password", "a strong password behind -p or -P of any tool",
         r"[ \f]-[pPwW](?:[ ]|\f)", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{8,128}|[^\s\"'`\f|;&]{8,128}))", check=is_flag_word, fingerprint=False, rank=GUESS,
         hits=("knife bootstrap h -U bob -P 'T1gerX!9kk' --sudo", "x -p wxco5SR89T7"), misses=("mkdir -p My_Dir-2/x", "ssh -p 2222 h", "python -m pytest -p no:cacheprovider", "nmap -p T:80,U:53 h", "minisign -Vm a.gz -P RWQ" + "f6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")),
    Rule("here-string-word", "password", "a strong password in a here-string",
         r"<<<[ ]?", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{8,128}|[^\s\"'`\f|;&]{8,128}))", check=is_strong_password, fingerprint=False, rank=GUESS,
         hits=("op signin --account x <<< P8XxA36u+EWYO5I",), misses=("jq . <<< '{\"a\":1}'", "cat <<< hello-world")),
    Rule("pipe-strong", "password", "a strong password piped into a coder or the clipboard",
         r"(?:echo|printf)[ \f](?:-[a-z]{1,3}[ \f])?(?:['\"]?%s(?:\\n)?['\"]?[ ])?", r"[\"']?(?:[A-Za-z0-9_.@+-]{0,64}:)?(?P<secret>[^\s\"'`|;&<>:][^\s\"'`|;&<>]{5,256})\\{0,3}[\"']?[ \f]*\|[ \f]*(?:base64(?![ \f]+-{1,2}[dD])|pbcopy|xclip|xsel|wl-copy|clip|(?:md5|sha(?:1|256|512))sum|openssl|mkpasswd)", check=is_strong_password, fingerprint=False, rank=GUESS,
         hits=("echo -n 'T1gerX!9kk' | base64", "printf '%s' 'bob:T1gerX!9kk' | base64"), misses=("echo -n hello | base64", "echo $PW | base64 -d", "echo a-b_c.2 | pbcopy")),
    Rule("pipe-secret", "secret", "a secret piped into a command that stores or uses one",
         r"(?:echo|printf)[ \f](?:-[a-z]{1,3}[ \f])?(?:['\"]?%s(?:\\n)?['\"]?[ ])?(?P<quote>\\{0,3}[\"'])?(?P<secret>[^\s\"'`|;&<>]{6}", r"[^\s\"'`|;&<>]{0,4096})\\{0,3}[\"']?[ \f]*\|[ \f]*(?:[^\n|;&]{1,80}?[ \f])?(?:secrets?|variable|env|login|auth|passwd|set-password|token|load-key|unlock\w*|luks\w+|kinit|signin|decrypt|add-key|keychain)(?:[ \f:]|$)", check=is_mixed_word, rank=GUESS,
         hits=("echo q9Wm3Zx8Lk2V | wrangler secret put API_KEY", "printf '%s' q9Wm3Zx8Lk2V | vault login -"), misses=("echo done | tee login", "echo $TOKEN | gh auth login --with-token", "echo hello | env")),
    Rule("piped-group", "password", "the lines that a group of commands answers with",
         r"(?:\)|;[ ]?\}|\n[ ]{0,8}\})[ ]{0,3}\|[ ]{0,3}(?:sudo[ ](?:-[A-Za-z]{1,8}[ ]){0,3})?(?:(?:smb|vnc|ch|ht|k|ldap|x11vnc|gr)?passwd|cryptsetup|kinit|ksu|ssh-add|ssh-keygen|gpg|sudo|veracrypt|pdbedit)\b", "", parts=_spoken, fingerprint=False,
         hits=("(echo falcon_84; echo falcon_84) | smbpasswd -s bob", '{ echo "falcon_84"; echo "falcon_84"; } | passwd bob'), misses=('(echo "$PW"; echo "$PW") | smbpasswd -s bob', "(echo y17; echo y17) | tee a")),
    # Written somewhere, or behind the flag for cookies
    Rule("replaced", "secret", "what an editor of streams puts in the place of a stand-in",
         r"s[/|#,][^/|#\n]{0,80}(?:pass|secret|token|key|pwd|change_?me|placeholder|replace_?me)[^/|#\n]{0,40}[/|#,]", r"(?:[A-Za-z0-9_.\"' -]{0,60}[=:][ ]?[\"']?)?(?P<secret>[^\s/|\"',\\&]{6,512})[\"']?[/|#,][gimI]{0,3}[\"' ;]", check=_is_put, caseless=True, rank=GUESS,
         hits=(f"sed -i 's/__TOKEN__/{mix(40)}/g' config.js", "perl -pi -e 's/password=.*/password=Summer#47/' a.conf"), misses=("sed -i 's/__TOKEN__/$TOKEN/g' x", "sed 's/password/passwd/g' x", "sed -i 's/key: .*/key: value/' x", "ls/tokens/v2/")),
    Rule("written", "secret", "what is echoed into a file that is named after a secret",
         r"(?:echo|printf)[ \f][^\n|;&>]{6,400}>{1,2}[ ]?[^\s;&|]{0,120}(?:pass|secret|token|key|cred|pw)", "", parts=_written, rank=GUESS, wide=r">{1,2}[ ]?[^\s;&|]{0,120}(?:pass|secret|token|key|cred|pw)",
         hits=(f"printf %s {mix(40)} > /run/credentials/x.key", "echo -n 'winter34-95' > ./secrets/db_password"), misses=("echo done > key.txt", "echo $TOKEN > token", "echo 1.2.3 > api_key_version", "echo hello-world > secret.txt")),
    Rule("cookie-flag", "session-cookie", "a session behind the flag for cookies",
         r"[ \f](?:-b|--cookie)[ =\f][\"']?", r"(?P<secret>[A-Za-z0-9_.-]{1,80}=[^\n\f\"'`]{3,4096})", parts=_flagged, rank=GUESS,
         hits=(f"curl -b 'session={mix(40)}' https://x",), misses=("curl -b cookies.txt https://x", "git checkout -b feature=x1", "curl -b 'lang=en' x")),
)  # fmt: skip
