"""Tools and the short flags behind which they take a password: `-p` means a port to ssh."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import CONTEXT, GUESS, SECRET, Check, Parts, Rule
from policies.redact.rules.checks_around import is_pass_argument
from policies.redact.rules.grammar import ATTACHED
from policies.redact.values import is_argument, is_pair_word, is_user_pair

# Between the tool and its flag, within one command.
_BETWEEN = r"(?:[ \f][^\n|;&]{0,400}?)?[ \f]"
# A tool may take several: what stands behind each flag to the end of the command is looked at.
_MAX_COMMAND_CHARS = 2_000
START: Final = r"(?:^|[\s/;|&('\"`=\[{,])"
_GAP = (
    r"(?:(?P<whole>(?<=\f))|(?P<quote>\\{0,3}[\"']))?"
    r"(?P<secret>(?(whole)[^\f]{1,4096}|(?(quote)(?:(?!(?P=quote))[^\n\f]){1,4096}|[^\s\"'`\f]{1,4096})))"
)


_PAIR_VALUE = (
    r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{1,4096}|[^\s\"'`\f]{1,4096}))"
)
_USER = r"[ =\f]?\\?[\"']?[^\s:\"'`]{0,128}[:%]"
_PASSWORD = r"(?:(?P<quote>(?<=[\"'])))?(?P<secret>[^\s\"'`\f]{1,4096})"


# What a setting that is no secret is set to.
_SETTING: Final = re.compile(r"[A-Za-z]{1,12}|[0-9.]{1,8}|https?://[^@\s]*|[a-z]{2}-[a-z]+-[0-9]")


def _is_set_secret(match: re.Match[str]) -> bool:
    """A value that is set as a secret, but not `RAILS_ENV=production` beside one."""
    secret_name = re.search(r"(?i)pass|secret|token|key|pw|cred|auth|dsn", match["name"])
    return is_argument(match) and bool(secret_name or not _SETTING.fullmatch(match[SECRET]))


def _each(tool: str, pattern: str, check: Check) -> Parts:
    """The values behind every flag of the command that a match begins; it ends where the next one
    does, so that no part of a text is looked at twice."""
    ends = re.compile(rf"[\n|;&]|{tool}[ \f]", re.ASCII)
    flag = re.compile(rf"(?<=[ \f]){pattern}", re.ASCII)

    def parts(match: re.Match[str]) -> Iterator[tuple[int, int]]:
        # What a bare separator ends may go on behind it in quotes, so the match itself is whole.
        stop = match.start() + _MAX_COMMAND_CHARS
        end = ends.search(match.string, match.end(), stop)
        for found in flag.finditer(match.string, match.start(), end.start() if end else stop):
            if check(found):
                yield found.span(SECRET)

    return parts


def _words(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Each argument of a list of secrets."""
    base = match.start(SECRET)
    for word in re.finditer(r"[^ \f]+", match[SECRET]):
        if not placeholder(word[0]):
            yield base + word.start(), base + word.end()


def _after(name: str, tools: str, flags: str, example: str, *misses: str) -> Rule:
    """`tool … -p VALUE`: the flag, a blank or `=`, the value."""
    return Rule(
        f"tool-{name}", "password", f"the password that {name} takes behind {flags}",
        rf"{START}(?:{tools}){_BETWEEN}(?:{flags})[ =\f]", rf"[ \t]*{_GAP}",
        parts=_each(rf"{START}(?:{tools})", rf"(?:{flags})[ =\f][ \t]*{_GAP}", is_argument),
        fingerprint=False, rank=CONTEXT,
        hits=(example, example.replace(" ", "\f")), misses=misses,
    )  # fmt: skip


def _attached(name: str, tools: str, flags: str, example: str, *misses: str) -> Rule:
    """`tool … -pVALUE`: the value at the flag."""
    return Rule(
        f"tool-{name}", "password", f"the password that {name} takes at {flags}",
        rf"{START}(?:{tools}){_BETWEEN}(?:{flags})", ATTACHED,
        parts=_each(rf"{START}(?:{tools})", rf"(?:{flags}){ATTACHED}", is_argument), fingerprint=False, rank=CONTEXT,
        hits=(example, example.replace(" ", "\f")), misses=misses,
    )  # fmt: skip


def _pair(name: str, tools: str, flags: str, example: str, *misses: str) -> Rule:
    """`tool … -u user:VALUE`."""
    return Rule(
        f"tool-{name}", "password", f"the password that {name} takes as user:password behind {flags}",
        rf"{START}(?:{tools}){_BETWEEN}(?:{flags}){_USER}", _PASSWORD,
        parts=_each(rf"{START}(?:{tools})", rf"(?:{flags}){_USER}{_PASSWORD}", is_user_pair),
        fingerprint=False, rank=CONTEXT,
        hits=(example, example.replace(" ", "\f")), misses=misses,
    )  # fmt: skip


RULES: Final[tuple[Rule, ...]] = (
    _attached("mysql", "mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mysqlshow|mysqlcheck|mysqlbinlog|mariadb|mariadb-dump|mariadb-admin|mycli|xtrabackup",
              "-p", "mysql -uroot -phunter2!x -e x", "mysql -u root -p -h db", 'mysql -u root -p"$MYSQL_PWD" monkey', "mysql -P 3306 --protocol tcp"),
    _attached("7z", "7z|7za|7zr|7zz|rar|unrar", "-p|-hp", "7z a -ptop!secret backup.7z /data"),
    _after("zip", "zip|unzip|zipcloak|bsdtar", "-P|--passphrase", "zip -r -P winter!1108 out.zip dist/"),
    _after("redis", "redis-cli|valkey-cli|redis-benchmark|iredis", "-a|--pass", "redis-cli -h cache -a kj8K.qhLkDi1 PING"),
    _after("caddy", "caddy[ \\f]hash-password", "-p|--plaintext", "caddy hash-password --plaintext T1gerX!9kk"),
    _after("sshpass", "sshpass", "-p", "sshpass -p ei15Ab%759ND ssh ops@10.0.0.5", "sshpass -p $PW ssh x"),
    _attached("sshpass-attached", "sshpass", "-p", "sshpass -pei15Ab%759ND ssh ops@10.0.0.5", "sshpass -e ssh x"),
    _after("security", "security[ \\f](?:unlock|create|set|import|export|add|authorize)[a-z-]*", "-p|-w|-P|-k", "security unlock-keychain -p monkey#639 build.keychain"),
    _after("notary", "notarytool|altool|stapler|iTMSTransporter|Transporter|fastlane", "-p|--password", "xcrun altool --upload-app -p ltsk-ntkv-tvbi-jdml"),
    _after("login", "(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm|registry)[ \\f](?:registry[ \\f]|auth[ \\f])?login", "-p|--password", "docker login r.example.com -u robot -p WO+NI3Ly!QV"),
    _after("cloud-login", "(?:az|oc|kubectl|doctl|vault|cf|bx|ibmcloud|linode-cli|ossutil|mc|argocd|nomad|consul|rclone|heroku|snyk|gcloud)[ \\f][^\\n|;&]{0,40}login", "-p|--password|--token|--apikey|-t", "az login --service-principal -u x -p Zx81kk2!q"),
    _after("openssl", "openssl", "-passin|-passout|-pass|-k|-K|-password|-hmac", "openssl enc -aes-256-cbc -k Zx81kk2!q -in x", "openssl rsa -in key.pem -passin file:/run/secrets/x"),
    _after("keytool", "keytool|jarsigner|apksigner|keytool.exe", "-storepass|-keypass|-srcstorepass|-deststorepass|-new|--ks-pass|--key-pass", "keytool -list -keystore app.jks -storepass hunter#804"),
    _after("ldap", "ldapsearch|ldapadd|ldapmodify|ldapdelete|ldappasswd|ldapwhoami", "-w|-s", "ldapsearch -x -D cn=admin -w Zx81kk2!q -b dc=x"),
    _after("sign-update", "sign_update|generate_appcast", "-s", "bin/sign_update -s Zx81kk2qZx81kk2q build/a.dmg"),
    _after("snmp", "snmpwalk|snmpget|snmpset|snmpbulkwalk|snmpbulkget|snmpgetnext|snmptrap|snmptable|snmpusm", "-A|-X", "snmpwalk -v3 -u bob -A authPass77 -X privPass77 h"),
    _after("rclone", "rclone[ \\f]config[ \\f](?:create|update|password)", "pass|password|token|client_secret|secret_access_key|key|bearer_token", "rclone config create m mega user bob pass T1gerX9kk"),
    _after("nuget", "nuget|dotnet[ \\f]nuget|choco", "-k|--api-key|-ApiKey|-apikey|-p|--password|-Password", "dotnet nuget push a.nupkg -k oy2k9fK2mQ7vXb"),
    _after("mongo", "mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", "-p", "mongosh -u admin -p Zx81kk2!q --host db"),
    _after("sqlcmd", "sqlcmd|mssql-cli|bcp|osql|isql|tsql|sqlplus|impala-shell|beeline|vsql|clickhouse-client|cqlsh|influx|ysqlsh", "-P|-p|--password", "sqlcmd -S db -U sa -P Zx81kk2!q -Q x"),
    _after("stores", "cypher-shell|neo4j-admin|couchbase-cli|cbq|cbimport|cbexport|cbbackupmgr|ksql|mycli|pgcli|usql|arangosh|arangodump", "-p|--password", "cypher-shell -a bolt://h:7687 -u neo4j -p Zx81kk2!q", "cypher-shell -u neo4j -p $PW", "mycli -P 3306 -p"),
    _after("rdp", "xfreerdp|rdesktop|vncviewer|x11vnc|ipmitool|winexe|psexec|crackmapexec|netexec|hydra|evil-winrm|impacket-psexec", "-p|-P|/p:|-passwd|-storepasswd", "ipmitool -I lanplus -H bmc -U admin -P Zx81kk2!q power status"),
    _after("sftp", "ncftpput|ncftpget|ncftp|kinit|svn|cadaver|lftp", "-p|--pass|--password", "ncftpput -u bob -p Zx81kk2!q h / a"),
    _after("plink", "plink|pscp|psftp|putty|klink", "-pw", "plink -P 2222 -pw Zx81kk2!q bob@h", "plink -P 2222 bob@h"),
    _after("mqtt", "mosquitto_pub|mosquitto_sub|mosquitto_rr|mqttx|mqtt", "-P|--pw|--password|-pw", "mosquitto_pub -h broker -p 8883 -u x -P Zx81kk2!q -t a -m b"),
    _after("publish", "vsce|ovsx|cloudsmith|codecov|codecovcli|uploader|coveralls|codacy-coverage-reporter|conan[ \\f](?:remote[ \\f])?(?:login|user|set-user|auth)|anaconda|fury|gemfury|semantic-release|web-ext|flagsmith|percy|chromatic|snapcraft|dart[ \\f]pub|testspace|influx|buildkite-agent|sauce",
           "-p|-t|-k|--pat|--token|--api-key|--project-token|--api-secret", "npx vsce publish -p 3fa94c1d-22b0-4e58-86af-10c9d4b1e277", "codecov -t $CODECOV_TOKEN"),
    _after("rabbit", "rabbitmqadmin|rabbitmqctl|jira|twine|conda|poetry|flit|gem", "-p|--password", "twine upload -u __token__ -p Zx81kk2!q dist/x"),
    _after("mail", "swaks|ssmtp|sendemail|sendEmail", "-ap|-xp", "swaks --to a@b.example -au bob -ap Zx81kk2!q", "swaks -a -ap --tls"),
    _after("ssh-keygen", "ssh-keygen|puttygen|ssh-add", "-N|-P|-O|--new-passphrase", "ssh-keygen -t ed25519 -N Zx81kk2!q -f id"),
    _after("useradd", "useradd|usermod|chpasswd|adduser|dscl|sysadminctl|net[ \\f]user", "-p|--password|-passwd|-adminPassword|-password|-newPassword", "useradd -m -p Zx81kk2!q bob"),
    _after("pdf", "qpdf|pdftk|pdftotext|pdfinfo", "--password|-upw|-opw|input_pw|owner_pw|user_pw", "pdftotext -upw Zx81kk2!q a.pdf"),
    _after("gpg", "gpg|gpg2|gpgv|rage|borg|restic|duplicity|cosign", "--passphrase|-p", "gpg --batch --passphrase CUajCHeA1c*VCJe -d x.gpg", "gpg --passphrase-fd 0 -d x.gpg"),
    _after("oathtool", "oathtool", "-b|--base32", "oathtool --totp -b B3FKBEXYEZ4FYPR5"),
    _after("bitcoin", "bitcoin-cli|litecoin-cli|dogecoin-cli", "importprivkey|walletpassphrase|encryptwallet", "bitcoin-cli -testnet importprivkey KzynvPdQ6szsZPt x"),
    _after("secret-set", "(?:gh|glab|wrangler|flyctl|fly|vercel|netlify|supabase|modal|hf|railway)[ \\f](?:secrets?|variable|env)[ \\f](?:set|put|add|create)", "--body|-b|--value|-v", "gh secret set API_TOKEN --body q9Wm3Zx8Lk2V"),
    Rule("tool-secret-pairs", "secret", "NAME=value pairs that are secrets by the command",
         r"(?:secrets?[ \f](?:set|put|import|create|add)|config:set|secrets:set)(?:[ \f][^\n|;&]{0,200}?)?[ \f][A-Za-z0-9_.-]{1,64}=", _PAIR_VALUE, parts=_each(r"(?:secrets?[ \f](?:set|put|import|create|add)|config:set|secrets:set)", rf"(?P<name>[A-Za-z0-9_.-]{{1,64}})={_PAIR_VALUE}", _is_set_secret),
         hits=("fly secrets set STRIPE=q9Wm3Zx8Lk2V -a app",), misses=("fly secrets set A=$A", "fly secrets set LOG_LEVEL=warn")),
    _pair("curl", "curl|etcdctl|curlie|xh|http|https|httpie|wget|aria2c|lynx|ab|hey|wrk|siege|elasticdump|nuclei|ffuf", "-[a-zA-Z]{0,6}u|--user|-U|--proxy-user|-a|--auth|-A", "curl -u ci-bot:iM^nQgiwV.BqiJRD https://x", 'curl -u "$USER:$PASS" https://x/link', "curl -u : --negotiate https://x", "curl --user name https://x/a:b"),
    _pair("creds", "skopeo|podman|buildah|oras|crane|ctr|nerdctl|cosign|helm|regctl", "--dest-creds|--src-creds|--creds", "skopeo copy --dest-creds bob:Wint3r!Storm docker://a docker://b"),
    _pair("smb", "smbclient|smbmap|rpcclient|smbget|mount.cifs|nmblookup|net[ \\f](?:ads|rpc)", "-U|--user", "smbclient //srv/share -U bob%Zx81kk2!q"),
    Rule("tool-oracle", "password", "user/password as Oracle's tools take it",
         rf"{START}(?:sqlplus|sqlldr|impdp|expdp|rman|sqlcl|exp|imp)(?:[ \f]-[A-Za-z]{{1,8}})*[ \f][\"']?(?:userid=)?[A-Za-z0-9_$#]{{1,64}}/", r"\\?[\"']?(?P<secret>[^\s\"'`@/\f]{1,256})(?=[@\s\f\"']|$)", check=is_argument, fingerprint=False,
         hits=("sqlplus scott/T1gerX!9@//db:1521/orcl",), misses=("sqlplus scott/$PW@db", "sqlplus / as sysdba")),
    Rule("tool-positional", "password", "a password by its place on the command line",
         rf"{START}(?:rclone[ \f]obscure|(?:setx|SETX|Setx)[ \f][A-Z0-9_]{{0,40}}(?:PASSWORD|TOKEN|SECRET|KEY|_PAT)[A-Z0-9_]{{0,16}}|wpa_passphrase[ \f][^ \f\n]{{1,64}}|nmcli[ \f][^\n|;&]{{0,200}}[ \f]password|networksetup[ \f]-setairportnetwork[ \f][^ \f\n]{{1,32}}(?:\f[^\f\n]{{1,64}}|[ \f][\"'][^\"'\n\f]{{1,64}}[\"']|[ \f][^ \f\n\"']{{1,64}})|rabbitmqctl[ \f](?:[^\n|;&]{{0,60}}[ \f])?(?:add_user|change_password|authenticate_user)[ \f][^ \f\n]{{1,64}}|(?:composer|poetry)[ \f]config[ \f](?:[^\n|;&]{{0,60}}[ \f])?http-basic[^ \f\n]{{1,80}}[ \f][^ \f\n]{{1,64}}|mc[ \f]alias[ \f]set[ \f][^ \f\n]{{1,64}}[ \f][^ \f\n]{{1,200}}[ \f](?:[^ \f\n<>|][^ \f\n]{{0,63}}|<[^ \f\n]{{1,62}}>)|net[ \f]use[ \f](?:[A-Za-z*]:?[ \f])?\\{{2,4}}[^ \f\n]{{1,200}}(?:[ \f]/[Uu][Ss][Ee][Rr]:[^ \f\n]{{1,80}})?|pass[ \f]insert[ \f]-e|(?:setx?|setenv|ENV|ARG)[ \f](?:-[a-zA-Z]{{1,3}}[ \f]|--[a-z]{{1,10}}[ \f]){{0,2}}[A-Z0-9_]{{0,40}}(?:PASSWORD|PASSWD|SECRET|TOKEN|_KEY|_PASS|_PAT|CREDENTIALS))[ \f]", r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n\f]{3,512}|(?![/-])[^\s\"'`\f]{3,512}))", check=is_argument, fingerprint=False,
         hits=("rclone obscure T1gerX!9kk", "setx APP_SECRET_KEY T1gerX!9kk", "mc alias set m http://h:9000 AKIA1 wJk8Lq2Zx9Vb", "wpa_passphrase HomeNet T1gerX!9kk", "net use \\\\srv\\share T1gerX!9kk /user:bob", "net use Z: \\\\srv\\share T1gerX!9kk"),
         misses=("net use Z: \\\\srv\\share /user:bob", "rclone obscure -")),
    Rule("tool-dscl", "password", "the passwords that dscl takes, the old one and the new",
         rf"{START}dscl[ \f][^ \f\n]{{1,64}}[ \f]-?passwd[ \f]/[^ \f\n]{{1,128}}[ \f]", r"(?P<secret>[^\s\"'`\f]{3,256}(?:[ \f][^\s\"'`\f]{3,256})?)", parts=_words, fingerprint=False,
         hits=("dscl . -passwd /Users/bob oldPw!1 newPw!22",), misses=("dscl . -passwd /Users/bob",)),
    Rule("pair-flag", "password", "user:password behind a flag of any tool",
         r"[ \f](?:--?(?:user|auth|creds?|credentials?|login|basic-auth|http-auth|proxy-auth|userpass)|-u)[ =\f][\"']?[^\s:\"'`/\f]{1,64}:", r"(?P<secret>[^\s\"'`\f:/]{6,512})", check=is_pair_word, fingerprint=False, rank=GUESS,
         hits=("etcdctl --user root:t4bl3!Row get x",), misses=("docker run --user 1000:1000 x", "x --user name:group-of-people")),
    Rule("user-token", "secret", "a token as the user, with an empty password or a word that is none",
         r"[ \f=,(](?:(?:--?(?:user|auth|creds?|credentials?|login|basic-auth|http-auth|proxy-user|userpass)|-[ua])[ =\f]|-u|[aA]uth[ ]?=[ ]?\(|HTTPBasicAuth\()\\?[\"']?(?P<secret>[A-Za-z0-9_.~+/=-]{16}", r"[A-Za-z0-9_.~+/=-]{0,400})(?::(?=(?:[xX]|api_?token|token|unused|x-oauth-basic)?(?:[\s\"'\\\f]|$))|\\?[\"'](?=:\\?[\"']{2}|,[ ]?\\?(?:''|\"\\?\"|None)))", check=is_pair_word, rank=GUESS,
         hits=("curl -u 795c6ad446407f8e8867784d6b52273aacb5771c: https://x", "curl\f-u\fkR7fQ2mZx9LbV4tN8wYc:\fhttps://x", 'http -a "kR7fQ2mZx9LbV4tN8wYc:" x', "get(u, auth=('kR7fQ2mZx9LbV4tN8wYc', ''))"), misses=("curl -u deploy-bot-user-2024: https://x", "chown -u build-agent-user-1: x")),
    Rule("tool-bundle", "password", "credentials for a source of gems",
         rf"{START}bundle[ \f]config[ \f][^\n|;&]{{0,120}}?[ \f][^ \f\n:]{{1,64}}:", r"(?P<secret>[^\s\"'`\f:/]{4,512})", check=is_argument, fingerprint=False,
         hits=("bundle config set --global gems.example.com bob:t4bl3Row9",), misses=("bundle config set path vendor",)),
    Rule("tool-htpasswd", "password", "the password that htpasswd takes last",
         rf"{START}htpasswd(?:[ \f]-[A-Za-z]{{1,8}})*[ \f]-[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}}[ \f]", r"(?:[^\s]{1,512}[ \f]){1,2}(?P<secret>[^\s\"'`]{1,512})", check=is_argument, fingerprint=False,
         hits=("htpasswd -bc /etc/nginx/.htpasswd admin Passw0rd!1815",), misses=("htpasswd -c /etc/x admin",)),
    Rule("tool-pass-colon", "password", "pass:VALUE, as openssl and apksigner take it",
         r"[ =\f]\\?[\"']?pass:", r"(?P<secret>[^\s\"'`\f]{1,512})", check=is_pass_argument, fingerprint=False,
         hits=("openssl pkcs12 -in c.p12 -nodes -passin pass:M.HiKqfwFH2+Y",), misses=("openssl x -passin pass:$PW",)),
    Rule("tool-git-config", "password", "a credential line for git or npm",
         r"(?:^|[^A-Za-z0-9])(?:_authToken|_password|_auth)[ ]?=[ ]?", r"\\{0,3}[\"']?(?P<secret>[^\s\"'`;,&]{6,4096})", check=is_argument, fingerprint=False,
         hits=("//registry/:_authToken=abc12345",), misses=("_authToken=${NPM_TOKEN}",)),
)  # fmt: skip
