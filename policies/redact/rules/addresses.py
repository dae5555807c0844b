"""Secrets in addresses: user and password, parameters, paths that let in whoever knows them."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, generated_case, long_and_mixed, slug
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.checks import is_hook_id
from policies.redact.rules.checks_around import is_signature
from policies.redact.rules.grammar import NEXT_PARAMETER, SCHEME
from policies.redact.rules.samples import hexa, mix, uuid
from policies.redact.values import (
    is_generated_word,
    is_mixed,
    is_mixed_word,
    is_opaque,
    is_query_secret,
    is_userinfo,
)

_USERINFO: Final = re.compile(rf"[^:]{{1,70}}:(?P<{SECRET}>[^@]{{5,140}})@")


def userinfo(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The password of `user:password@host`, if a generator wrote it."""
    found = _USERINFO.match(match.string, match.start())
    if found and is_generated_word(found):
        yield found.span(SECRET)


# An owner's name is rarely longer.
_LEAST_TOKEN: Final = 16


def _opens_channel(match: re.Match[str]) -> bool:
    """A word that stands where a token must; elsewhere an owner has that place, so a made one."""
    value = match[SECRET]
    if "/t/" in match[0] or "/auth/" in match[0]:
        return is_mixed_word(match)
    if HEX.fullmatch(value):
        return True
    if not value.isalnum() or len(value) < _LEAST_TOKEN or placeholder(value):
        return False
    return generated_case(value) or (long_and_mixed(value) and not slug(value))


RULES: Final[tuple[Rule, ...]] = (
    # Users and parameters
    Rule("url-password", "password", "user:password@host",
         r"[a-z][a-z0-9+.-]{1,20}:(?:/|\\/|%2F){2}[^\s/:@\"'`<>\f]{0,128}:", r"(?P<secret>[^\s\"'`<>\f]{1,512}?)@(?=[\w\[.\x06\x7f$-])", check=is_userinfo, caseless=True,
         fingerprint=False, hits=("mysql://root:welcome_643@127.0.0.1:3306/shop", "redis://:4yzS-u9ENQCfsov6DK@cache:6379/0", "https_proxy=http://svc:y0sh0Y#-hGH^^@proxy:3128"),
         misses=("https://user:****@git.example.com/x.git", "postgres://$DB_USER:$DB_PASS@db/index", "http://localhost:8976/callback?m=a@b.c",
                 "https://<user>:<password>@key.example.com", "https://example.com:443/@scope/pkg")),
    Rule("url-user-token", "secret", "a token in place of the user's name",
         r"[a-z][a-z0-9+.-]{1,20}://(?P<secret>[A-Za-z0-9_-]{20}", r"[A-Za-z0-9_.~-]{0,200})(?=:?(?:x-oauth-basic)?@)(?!(?<=//[0-9a-f]{32})@o[0-9]{1,20}\.ingest(?:\.[a-z]{2})?\.sentry\.io[:/])", check=is_mixed, caseless=True, rank=GUESS,
         hits=(f"git fetch https://{mix(40)}@github.com/acme/tools",), misses=("https://auth@github.com/acme/fetch.git",)),
    Rule("query-secret", "secret", "a secret in a query string or form body",
         r"[?&#;](?:amp;)?(?P<key>[A-Za-z0-9_.-]{0,30}(?:key|token|secret|sig|signature|auth|code|credential|password|passwd|pwd|session|ticket|jwt|assertion|otp|hash|apikey|sid|hmac|appid))(?:=|%3D)", rf"(?:{SCHEME}(?:%20|\+))?(?P<secret>(?:[^\s&\"'`<>#;,\\\f%]|%(?!{NEXT_PARAMETER})){{1,16384}})", check=is_query_secret, caseless=True,
         hits=(f"https://x/cb?code={mix(40)}&state=567f", f"https://b/o?sig={mix(43)}%3D", f"https://x/#access_token={mix(60)}"),
         misses=("https://x/?code_challenge=0hKn50dfFy4_yQ7UevngG3KqHte5oSMBAPd6Ic6VQQc&x=1", "https://x/#/token/access?key=value",
                 "https://x/authorize?client_id=238923131163&response_type=code")),
    Rule("presigned", "signature", "the signature of a presigned URL",
         r"(?:X-(?:Amz|Goog|Oss)-Signature|X-Amz-Security-Token)(?:=|%3D)", r"(?P<secret>[^\s&\"'`<>#;,\\\f]{8,16384})", check=is_signature, caseless=True, rank=SHAPE,
         hits=(f"https://b.s3.amazonaws.com/o?X-Amz-Signature={hexa(64)}",)),
    Rule("jdbc-oracle", "password", "user/password in an Oracle URL",
         r"jdbc:oracle:[a-z]{1,8}:[A-Za-z0-9_$#]{1,64}/", r"(?P<secret>[^\s\"'`@/\f]{1,256})@", check=is_opaque, caseless=True, fingerprint=False,
         hits=("jdbc:oracle:thin:app/T1gerX9@//db:1521/orcl",), misses=("jdbc:oracle:thin:@//db:1521/orcl",)),
    Rule("bare-userinfo", "password", "user:password@host without a scheme",
         r"(?:^|[\s\"'=/\f(])[A-Za-z0-9_.+-]{1,64}:[^\s:/@\"'`\f<>]{5}[^\s:/@\"'`\f<>]{0,128}@", r"(?!sha256)(?:(?:tcp|unix)\(|[A-Za-z0-9][A-Za-z0-9.-]*)", parts=userinfo, fingerprint=False, rank=GUESS,
         hits=("DSN=user:T1gerX!9kk@tcp(10.0.0.5:3306)/db", "psexec.py CORP/bob:T1gerX!9kk@10.0.0.5"), misses=("npm:string-width@4.2.3", "nginx:1.25.3-alpine@sha256:abc", "git@github.com:acme/x1@v2", "a:b@c")),
    # Paths
    Rule("webhook-path", "webhook", "an address that whoever knows it may post to",
         r"(?:hooks\.zapier\.com/hooks/(?:catch|standard)/|maker\.ifttt\.com/trigger/[^/\s]{1,64}/(?:json/)?with/key/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|hc-ping\.com/|events\.pagerduty\.com/(?:integration/|x-ere/)|hooks?(?:\.[a-z0-9-]{1,20})?\.(?:make|integromat|celonis)\.com/|outlook\.office(?:365)?\.com/webhook/|api\.opsgenie\.com/v1/json/[^?\s]{1,40}\?apikey=|discord(?:app)?\.com/api/webhooks/[0-9]{10,24}/|chat\.googleapis\.com/v1/spaces/[^/\s]{1,40}/messages\?key=|insights-collector\.newrelic\.com/v1/accounts/|webhooks\.mongodb-stitch\.com/|hooks\.airtable\.com/workflows/v1/genericWebhook/|(?:uptime\.betterstack|betteruptime)\.com/api/v1/heartbeat/|cronitor\.link/p/|heartbeat\.uptimerobot\.com/|nosnch\.in/|api\.day\.app/|sctapi\.ftqq\.com/|hook\.notify17\.net/api/raw/|webhook\.site/|kolkrabbi\.heroku\.com/hooks/|alert\.victorops\.com/integrations/[a-z]{1,20}/[0-9]{1,12}/alert/|api\.squadcast\.com/v[0-9]/incidents/[a-z-]{1,40}/|webhook\.office\.com/webhookb2/)", r"(?P<secret>[A-Za-z0-9@/_-]{6,400})", check=is_opaque, rank=SHAPE,
         hits=("https://hooks.zapier.com/hooks/catch/7526747/59j9wbb/", f"https://open.feishu.cn/open-apis/bot/v2/hook/{uuid()}"), misses=("https://hooks.zapier.com/",)),
    Rule("hook-path", "webhook", "a generated part of the path of a hook",
         r"/(?:web)?hooks?/(?:[a-z0-9_-]{1,24}/){0,3}(?P<secret>[A-Za-z0-9_-]{20}", r"[A-Za-z0-9_-]{0,200})(?![A-Za-z0-9_-])", check=is_hook_id, caseless=True, rank=GUESS,
         hits=(f"https://chat.example.com/hooks/{mix(26)}",), misses=("/repo/.git/hooks/pre-commit-checks-for-everything", f"https://api.example.com/hooks/{uuid()}")),
    Rule("hook-id", "webhook", "an id in a path that whoever knows it may call",
         r"(?:/webhook(?:-test|-waiting)?/|/api/stacks/webhooks/|/ping/|/api/push/|/private-|/owa/calendar/[^/\s]{1,120}/)", r"(?P<secret>(?:(?<=/)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=webhook/)[0-9a-f]{32,64}|(?<=/private-)[0-9a-f]{32}|[0-9a-f]{32}[0-9]{8,24}(?=/calendar)|(?<=/push/)[A-Za-z0-9]{10,32}(?=\?(?:status|msg|ping)=)))(?![A-Za-z0-9-])", rank=SHAPE,
         hits=(f"https://n8n.example.com/webhook/{uuid()}", f"https://ha.example.com/api/webhook/{hexa(64)}", f"https://hc.example.com/ping/{uuid()}/fail", f"https://cal.example.com/ical/me%40example.com/private-{hexa(32)}/basic.ics", f"https://kuma.example.com/api/push/{mix(10)}?status=up"),
         misses=(f"https://api.example.com/webhooks/{uuid()}", "https://x.example/ping/host1", "/private-key/basic.ics", "https://x.example/api/push/notifications")),
    Rule("deploy-hook", "webhook", "an address that starts a build or takes in logs",
         r"(?:api\.netlify\.com/build_hooks/|api\.vercel\.com/v1/integrations/deploy/[A-Za-z0-9_]{1,40}/|api\.render\.com/deploy/[a-z0-9-]{1,40}\?key=|logs\.[a-z0-9-]{1,20}(?:hq)?\.(?:com|eu)/v1/input/|loggly\.com/(?:inputs|bulk)/|collector\.solarwinds\.com/v1/log/|collectors\.[a-z0-9.]{0,8}sumologic\.com/receiver/v1/http/|/deploy_hooks/|/build/v1/source/[0-9a-f-]{36}/trigger/|webhook\.buildkite\.com/deliver/|hooks\.bitrise\.io/h/[a-z]{1,12}/|api\.codemagic\.io/hooks/|webhooks\.workato\.com/webhooks/rest/|hooks\.torq\.io/v1/webhooks/|/webhook-triggers/[0-9]{1,12}/|\.tines\.com/webhook/|registry\.terraform\.io/t/|hooks?\.[a-z0-9.-]{1,60}/(?:hooks?|catch|services|workflows|triggers)/)", r"(?:catch/)?(?:[0-9]{4,12}/)?(?!catch/)(?P<secret>[A-Za-z0-9/_=-]{6,200})", check=is_opaque, rank=SHAPE,
         hits=(f"https://api.netlify.com/build_hooks/{hexa(24)}", f"https://api.example.com/pages/webhooks/deploy_hooks/{uuid()}", f"https://logs-01.loggly.com/inputs/{uuid()}/tag/x"), misses=("https://api.netlify.com/build_hooks/",)),
    Rule("rpc-path", "secret", "the key in the address of a node of a chain or of a calendar",
         r"(?:alchemy(?:api)?\.(?:com|io)/(?:nft/)?v[0-9]/|infura\.io/(?:ws/)?v3/|quiknode\.pro/|blastapi\.io/|nodereal\.io/v1/|getblock\.io/|rpc\.ankr\.com/[a-z0-9_-]{1,40}/|(?:p2pify|chainstack)\.com/|gateway\.tenderly\.co/|calendar\.google\.com/calendar/(?:ical|feeds)/[^/\s]{1,120}/private-|outlook\.(?:office365|live|office)\.com/owa/calendar/(?:[^/\s]{1,120}/)?|caldav\.icloud\.com/published/2/)", r"(?P<secret>[A-Za-z0-9_-]{16,120})", rank=SHAPE,
         hits=(f"https://eth-mainnet.g.alchemy.com/v2/{mix(32)}", f"https://calendar.google.com/calendar/ical/a%40example.com/private-{hexa(32)}/basic.ics"), misses=("https://docs.alchemy.com/v2/getting-started",)),
    Rule("channel-path", "secret", "the token in the address of a channel of packages",
         r"(?:conda\.[a-z0-9.-]{1,60}/(?:repo/)?t/|[a-z]\.cloudsmith\.io/|packagecloud\.io/(?:priv/)?|[a-z]\.fury\.io/|myget\.org/F/[A-Za-z0-9_-]{1,60}/auth/)", r"(?P<secret>[A-Za-z0-9_-]{8,200})", check=_opens_channel, rank=GUESS,
         hits=(f"https://conda.example.org/t/{mix(20)}/acme", f"https://dl.cloudsmith.io/{mix(16)}/acme/x/deb"), misses=("https://conda.example.com/t/$TOKEN/acme",)),
)  # fmt: skip
