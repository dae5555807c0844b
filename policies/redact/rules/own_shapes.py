"""Tokens of smaller issuers, known by a prefix, a fixed length or a letter sequence of their own."""

import base64
import re
from collections.abc import Callable, Iterator
from typing import Final

from policies.redact.rule import EDGE, GUESS, PROVIDER, SECRET, SHAPE, Check, Rule
from policies.redact.rules.checks import three_kinds
from policies.redact.rules.checks_around import not_words
from policies.redact.rules.checks_format import base58check
from policies.redact.rules.grammar import BASE58
from policies.redact.rules.samples import digits, hexa, mix, upper, uuid
from policies.redact.values import is_opaque

_ALL, _SIGNS, _HEX, _LOWER, _B64 = (
    "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]", "[a-z0-9]", "[A-Za-z0-9+/]",
)  # fmt: skip
_UUID: Final = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CLOSED: Final = ")(?![A-Za-z0-9])"
_FEW_RUNS, _MIXED_GROUPS = 3, 4


def _lower_mixed(match: re.Match[str]) -> bool:
    """Small letters and digits by turns, and no hash."""
    value = match[SECRET].rpartition("-")[2]
    runs = len(re.findall(r"[0-9]+", value))
    return runs >= _FEW_RUNS and not re.fullmatch(r"[0-9a-f]+", value)


def _mixed_groups(match: re.Match[str]) -> bool:
    """Groups that are neither words nor numbers, such as no text has one after the other."""
    groups = match[SECRET].split("-")
    mixed = sum(not re.fullmatch(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", group) for group in groups)
    return mixed >= _MIXED_GROUPS and three_kinds(match)


def _all_kinds(match: re.Match[str]) -> bool:
    """Both cases and a digit."""
    return all(re.search(kind, match[SECRET]) for kind in ("[a-z]", "[A-Z]", "[0-9]"))


def _lettered(match: re.Match[str]) -> bool:
    """Hex that is no number."""
    return re.search(r"[a-f]", match[SECRET]) is not None


_SPACES_LETTERS: Final = 4
_JOINING: Final = re.compile(r"(?i)kubeadm|kubelet|bootstrap|\bjoin(?:ing|ed)?\b")
_AROUND_CHARS: Final = 240


def _joins(match: re.Match[str]) -> bool:
    """By turns letters and digits, near a word for a machine that joins a cluster."""
    secret = match[SECRET].partition(".")[2]
    if not re.search(r"[a-z][0-9]+[a-z]", secret) or re.fullmatch(r"[0-9a-f]+", secret):
        return False
    start, end = match.span(SECRET)
    return bool(_JOINING.search(match.string[max(0, start - _AROUND_CHARS) : end + _AROUND_CHARS]))


def _stellar_seed(match: re.Match[str]) -> bool:
    """The last two bytes are the CRC of the others."""
    raw = base64.b32decode(match[SECRET])
    crc = 0
    for byte in raw[:-2]:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc == int.from_bytes(raw[-2:], "little")


def _base58(size: int) -> str:
    return mix(size).translate(str.maketrans("0OIl", "9PJk"))


def _first(prefix: str) -> str:
    """A text that the prefix matches: of each choice the first."""
    chosen = re.sub(r"\(\?:([^|)]*)[^)]*\)", r"\1", prefix)
    return re.sub(r"\[(.)[^\]]*\]", r"\1", chosen).replace("\\", "")


_SAMPLE: Final[dict[str, Callable[[int], str]]] = {
    _HEX: hexa,
    _LOWER: lambda size: mix(size).lower(),
}


def _open(kind: str, prefix: str, letters: str, least: int, check: Check = not_words) -> Rule:
    """A prefix and at least so many letters; all that follow belong to it."""
    sample = _first(prefix) + _SAMPLE.get(letters, mix)(least + 2)
    return Rule(
        kind, kind, f"a token that begins with {_first(prefix)}",
        f"{EDGE}(?P<secret>{prefix}{letters}{{{least}}}", f"{letters}{{0,4096}})", check=check, rank=PROVIDER,
        hits=(f"use {sample} now", f"/tmp/{sample}/x"), misses=(f"{_first(prefix)}x",),
    )  # fmt: skip


def _exact(kind: str, prefix: str, letters: str, size: int, check: Check = three_kinds) -> Rule:
    """A prefix that a word may have too, and just so many letters."""
    sample = _first(prefix) + _SAMPLE.get(letters, mix)(size)
    return Rule(
        kind, kind, f"a token that begins with {_first(prefix)}, of one length",
        f"{EDGE}(?P<secret>{prefix}{letters}{{{size}}}", _CLOSED, check=check, rank=PROVIDER,
        hits=(f"use {sample} now", f"/tmp/{sample}.json"), misses=(f"{sample}ab",),
    )  # fmt: skip


def _form(
    kind: str, proof: str, rest: str, example: str, *misses: str,
    check: Check | None = None, wide: str = "", more: tuple[str, ...] = (),
) -> Rule:  # fmt: skip
    """Any other form, behind a word border."""
    head = proof if "(?P<secret>" in proof else f"(?P<secret>{proof}"
    return Rule(
        kind, kind, "a token with a form of its own", f"{EDGE}{head}", rest, wide=wide, check=check, rank=PROVIDER,
        hits=tuple(f"use {each} now" for each in (example, *more)), misses=misses,
    )  # fmt: skip


def _label(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The name before the domain, which whoever knows it may post to."""
    start = match.start()
    if host := re.search(
        r"(?<![a-z0-9])e[on][a-z0-9]{10,30}\Z", match.string[max(0, start - 33) : start]
    ):
        yield start - len(host[0]), start


_PIPEDREAM: Final = Rule(
    "pipedream-host", "webhook", "an address that whoever knows it may post to", r"\.m\.pipedream\.net",
    parts=_label, rank=PROVIDER, hits=(f"use eo{mix(15).lower()}.m.pipedream.net now",),
    misses=("use docs.m.pipedream.net now",),
)  # fmt: skip

RULES: Final[tuple[Rule, ...]] = (
    # Clouds and hosts
    _form("azure-devops-pat", "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", _CLOSED, f"{mix(76)}AZDO{mix(4)}", wide="AZDO[A-Za-z0-9]{4}"),
    _form("azure-key", r"(?:[A-Za-z0-9+/]{33}(?:AIoT|AZEG|AzCa|\+ASb|\+AEh|\+ARm)[A-P][A-Za-z0-9+/]{5}=|[A-Za-z0-9+/]{76}(?:APIM|ACDb|\+ABa|\+AMC|\+ASt)[A-Za-z0-9+/]{5}[AQgw]==|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}|[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9+/]{5}|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==)", _CLOSED,
          f"{mix(33)}+ASbA{mix(5)}=", f"use {mix(33)}ASbA{mix(6)}=", wide=r"(?:AIoT|AZEG|AzCa|\+ASb|\+AEh|\+ARm|APIM|ACDb|\+ABa|\+AMC|\+ASt|AzSe|\+ACR|AzFu)[A-Za-z0-9+/_-]{6}",
          more=(f"{mix(76)}+ASt{mix(5)}Q==", f"{mix(42)}AzSeA{mix(5)}", f"{mix(42)}+ACRA{mix(5)}", f"{mix(44)}AzFu{mix(5)}Q==")),
    _open("alibaba-sts-key", r"STS\.", _ALL, 20, three_kinds), _open("alibaba-sts-token", "CAIS", _B64, 140, three_kinds), _open("volcengine-key", "AKLT", _SIGNS, 36, three_kinds),
    _exact("aws-appsync-key", "da2-", _LOWER, 26, _lower_mixed), _form("amazon-mws-key", rf"amzn\.mws\.(?P<secret>{_UUID}", _CLOSED, f"amzn.mws.{uuid()}"), _open("amazon-client-secret", r"amzn1\.oa2-cs\.v1\.", _HEX, 40),
    _form("akamai-token", r"akab-[a-z0-9]{16}-[a-z0-9]{16}", r")(?![a-z0-9])(?!\.luna\.)", f"akab-{hexa(16)}-{hexa(16)}", f"https://akab-{hexa(16)}-{hexa(16)}.luna.example.net"),
    _exact("backblaze-key", "K00[0-9]", _B64, 27), _open("tigris-secret", "tsec_", _SIGNS, 40), _open("qovery-token", "qov_", "[A-Za-z0-9_]", 40), _open("dnsimple-token", "dnsimple_[aou]_", _ALL, 24),
    _exact("porkbun-key", "[sp]k1_", _HEX, 64, not_words), _form("godaddy-key", r"sso-key[ \f](?P<secret>[A-Za-z0-9_]{20}", r"[A-Za-z0-9_]{0,60}:[A-Za-z0-9_]{16,40})", f"sso-key {mix(33)}_{mix(22)}:{mix(22)}"),
    _form("cloudflare-tunnel-token", r"eyJhIjoi[A-Za-z0-9+/_-]{80}", "[A-Za-z0-9+/_=-]{0,400})", f"eyJhIjoi{mix(150)}"),
    _form("coded-credentials", r"eyJ(?:Vc2VySUQiOi|hcGlfYWRkcmVzcyI6|hdXRocyI6|hcGlfa2V5|hcGlLZXki|hY2Nlc3NfdG9r|0b2tlbiI6|yZWZyZXNoX3Rv|jbGllbnRfc2Vj|wYXNzd29yZC)[A-Za-z0-9+/_-]{24}", "[A-Za-z0-9+/_=-]{0,4096})", f"eyJhdXRocyI6{mix(60)}"),
    _form("boundary-token", "at_[A-Za-z0-9]{10}_[A-Za-z0-9]{40}", "[A-Za-z0-9]{0,400})", f"at_{mix(10)}_s1{mix(60)}", check=three_kinds),
    _form("tailscale-old-key", "tskey-[A-Za-z0-9-]{1,40}CNTRL-[A-Za-z0-9]{8}", "[A-Za-z0-9]{0,60})", f"tskey-{mix(8)}CNTRL-{mix(22)}"),
    _form("headscale-key", "hskey-[a-z]{3,8}-[A-Za-z0-9_-]{24}", "[A-Za-z0-9_-]{0,80})", f"hskey-auth-{mix(12)}-{mix(40)}"),
    _form("ngrok-authtoken", "[123][A-Za-z0-9]{26}_[A-Za-z0-9]{21}", _CLOSED, f"2{mix(26)}_3{mix(20)}", check=three_kinds, wide="[A-Za-z0-9]{12}_[A-Za-z0-9]{16}"),
    _open("portainer-token", "ptr_", "[A-Za-z0-9+/=]", 40, three_kinds), _form("truenas-key", "[0-9]{1,6}-(?P<secret>[A-Za-z0-9]{64}", _CLOSED, f"1-{mix(64)}", check=three_kinds, wide="[0-9]-[A-Za-z0-9]{40}"),
    _open("palo-alto-key", "LUFRPT", "[A-Za-z0-9+/=]", 40), _open("logicmonitor-token", "lm[ab]_", "[A-Za-z0-9+/=]", 60, three_kinds), _form("censys-token", "censys_[A-Za-z0-9]{8}_[A-Za-z0-9]{16}", "[A-Za-z0-9]{0,40})", f"censys_{mix(8)}_{mix(24)}"),
    _form("digitalocean-spaces-key", "DO(?:00|80)[A-Z0-9]{16}", _CLOSED, f"DO00{upper(16)}", f"DO00{digits(16)}", check=lambda match: len(re.findall("[A-Z]", match[SECRET])) > _SPACES_LETTERS),
    _form("bootstrap-token", r"[a-z0-9]{6}\.[a-z0-9]{16}", ")(?![a-z0-9.])", "kubeadm q7k2m9.x4v1b8n3c6z5l0pd", "use q7k2m9.x4v1b8n3c6z5l0pd", check=_joins),
    # Building and code
    _exact("jenkins-token", "11", _HEX, 32, _lettered), _exact("phabricator-token", "(?:api|cli)-", _LOWER, 28, _lower_mixed), _form("nexus-npm-token", rf"NpmToken\.(?P<secret>{_UUID}", _CLOSED, f"NpmToken.{uuid()}"),
    _form("youtrack-token", r"perm[:-](?P<secret>[A-Za-z0-9+/=]{4}", r"[A-Za-z0-9+/=]{0,100}\.[A-Za-z0-9+/=-]{1,100}\.[A-Za-z0-9]{24,40})", f"perm:{mix(14)}.{mix(8)}=.{mix(30)}", check=three_kinds),
    _form("dependency-track-key", "odt_(?:[A-Za-z0-9]{8}_)?[A-Za-z0-9]{32}", _CLOSED, f"odt_{mix(32)}"), _open("deno-deploy-token", "ddw_", _ALL, 36), _open("chromatic-token", "chpt_", _LOWER, 12), _open("argos-token", "argos_", _HEX, 40),
    _open("honeybadger-token", "hbp_", _ALL, 32), _open("sourcegraph-key", "(?:slk_|sgamp_user_)", "[A-Za-z0-9_]", 40), _open("codesandbox-token", "csb_v1_", _SIGNS, 30), _open("plane-token", "plane_api_", _HEX, 32),
    _form("localstack-token", "ls-[A-Za-z0-9]{8}(?:-[A-Za-z0-9]{4}){3}-[A-Za-z0-9]{12}", _CLOSED, f"ls-{mix(8)}-1234-{mix(4)}-5678-{mix(12)}", f"ls-{uuid()}", check=three_kinds),
    _form("gitlab-mail-token", r"incoming\+[A-Za-z0-9._-]{1,200}-(?P<secret>[A-Za-z0-9_-]{20}", r"[A-Za-z0-9_-]{0,12})-(?:issue|merge)", f"incoming+acme-app-1234-{mix(25).lower()}-issue@h.example", wide=r"incoming\+[A-Za-z0-9._-]{12}"),
    _open("chief-tools-token", "ct[par]_", _ALL, 32, three_kinds), _open("snyk-service-token", r"snyk_sat\.", "[A-Za-z0-9._-]", 40), _form("v0-key", "v1:(?P<secret>[A-Za-z0-9]{24}:[A-Za-z0-9]{24}", _CLOSED, f"v1:{mix(24)}:{mix(24)}", check=three_kinds),
    _form("convex-key", r"(?:prod|dev|preview|project):[a-z0-9:-]{1,80}\|(?P<secret>[A-Za-z0-9+/=]{32}", r"[A-Za-z0-9+/=]{0,400})", f"prod:happy-animal-123|{mix(80)}"), _form("django-key", r"django-insecure-[A-Za-z0-9!@#$%^&*(_=+)-]{24}", "[A-Za-z0-9!@#$%^&*(_=+)-]{0,60})", f"django-insecure-#2(x{mix(40)}"),
    _form("laravel-key", r"base64:(?P<secret>[A-Za-z0-9+/]{43}=", r")(?![A-Za-z0-9+=])", f"base64:{mix(43)}=", check=three_kinds), _form("sanctum-token", r"[0-9]{1,9}\|(?P<secret>[A-Za-z0-9]{40}", r"[A-Za-z0-9]{0,8})(?![A-Za-z0-9])", f"12|{mix(40)}", check=three_kinds),
    _form("stripe-client-secret", "(?:pi|seti|cs|src)_[A-Za-z0-9]{8,80}_secret_(?P<secret>[A-Za-z0-9]{16}", r"[A-Za-z0-9]{0,80})", f"seti_{mix(24)}_secret_{mix(25)}", wide="_secret_[A-Za-z0-9]{12}"),
    # Models and agents
    _form("fal-key", rf"{_UUID}:[0-9a-f]{{32}}", _CLOSED, f"{uuid()}:{hexa(32)}", wide="-[0-9a-fA-F]{12}:[0-9a-f]{12}"), _form("deepl-key", rf"{_UUID}:fx", _CLOSED, f"{uuid()}:fx", wide="[0-9a-fA-F]{12}:fx"),
    _open("turbopuffer-key", "tpuf_", _ALL, 28), _open("braintrust-token", "bt-st-", _ALL, 40), _exact("retell-key", "key_", _HEX, 28, not_words), _open("scrapfly-key", "scp-(?:live|test)-", _HEX, 32), _exact("openai-session", "sess-", _ALL, 40),
    _open("kaggle-token", "KGAT_", _HEX, 32), _open("openpipe-key", "opk_", _HEX, 36), _open("glhf-key", "glhf_", _HEX, 32), _form("chutes-key", r"cpk_[0-9a-f]{32}\.", r"[A-Za-z0-9.]{0,100})", f"cpk_{hexa(32)}.{hexa(32)}.{mix(32)}"),
    _form("baidu-key", "bce-v3/ALTAK-[A-Za-z0-9]{16}", "[A-Za-z0-9/]{0,80})", f"bce-v3/ALTAK-{mix(21)}/{hexa(40)}"), _exact("upstage-key", "up_", _ALL, 29), _exact("nomic-key", "nk-", _SIGNS, 43), _open("mixedbread-key", "mxb_", _ALL, 24),
    _open("vectara-key", "z[uqwa]t_", _SIGNS, 36, three_kinds), _exact("agentmail-key", "am_", _HEX, 64, not_words), _exact("browser-use-key", "bu_", _SIGNS, 43), _exact("hyperbrowser-key", "hb_", _HEX, 30, not_words),
    _open("steel-key", "ste-", _ALL, 48, three_kinds), _form("scrapegraph-key", f"sgai-{_UUID}", _CLOSED, f"sgai-{uuid()}"), _exact("traceloop-key", "tl_", _HEX, 64, not_words), _open("pangea-token", "pt[sc]_", _LOWER, 32),
    _open("mintlify-key", "mint_", _ALL, 20, three_kinds), _open("hop-token", "ptk_", _SIGNS, 30, three_kinds),
    # Watching, mail and flags
    _exact("nightfall-key", "NF-", _ALL, 32), _exact("pagerduty-user-token", r"u\+", "[A-Za-z0-9_+-]", 18, _all_kinds), _form("uptimerobot-key", "(?:ur?|m)[0-9]{4,10}-[0-9a-f]{24}", _CLOSED, f"u{digits(7)}-{hexa(24)}"), _open("posthog-flags-key", "phs_", _SIGNS, 32),
    _open("inngest-branch-key", "signkey-(?:branch|stg|staging)-", _HEX, 32), _open("trigger-stage-key", "tr_(?:stg|preview)_", _ALL, 16), _open("firehydrant-token", "fhb-", _HEX, 32), _open("healthchecks-key", "hc[wr]_", _ALL, 24, three_kinds), _exact("flagsmith-key", r"ser\.", _ALL, 22), _open("statsig-console-key", "console-", _ALL, 40, three_kinds),
    _form("unleash-token", r"[a-z0-9*\[\]_-]{1,40}:[a-z0-9*_-]{1,40}\.(?P<secret>[0-9a-f]{56}", r"[0-9a-f]{0,8})(?![A-Za-z0-9])", f"default:production.{hexa(56)}", wide=r":[a-z0-9*_-]+\.[0-9a-f]{12}"), _open("fullstory-key", r"(?:na1|eu1)\.", "[A-Za-z0-9+/=]", 40, three_kinds),
    _exact("mandrill-key", "md-", _SIGNS, 22), _exact("klaviyo-key", "pk_", _HEX, 34, not_words), _form("courier-key", "(?:[dp]k_prod_[A-Za-z0-9]{24}|dk_test_[A-Za-z0-9]{24}|pk_test_[A-Z0-9]{28})", r"[A-Za-z0-9]{0,8})(?![A-Za-z0-9])", f"pk_prod_{upper(28)}", f"pk_live_{mix(24)}", f"pk_test_{mix(24)}"), _exact("qstash-signing-key", "sig_", _ALL, 28),
    _open("svix-token", "testsk_", "[A-Za-z0-9_.=-]", 24), _form("convoy-key", r"CO\.[A-Za-z0-9]{16}\.[A-Za-z0-9]{40}", "[A-Za-z0-9]{0,40})", f"CO.{mix(16)}.{mix(64)}"), _form("ably-key", r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:(?P<secret>[A-Za-z0-9_-]{43}", _CLOSED, f"xVLyHw.{mix(6)}:{mix(43)}", check=three_kinds, wide=r"\.[A-Za-z0-9_-]{6}:[A-Za-z0-9_-]{12}"),
    _open("pubnub-secret", "sec-c-", "[A-Za-z0-9=]", 40), _form("signalwire-token", "PT[0-9a-f]{40}", r"[0-9a-f]{0,20})(?![A-Za-z0-9])", f"PT{hexa(48)}"), _exact("pushbullet-token", r"o\.", _ALL, 32), _exact("ntfy-token", "tk_", _LOWER, 29, _lower_mixed), _exact("dingtalk-secret", "SEC", _HEX, 64, not_words),
    _form("slack-workflow-token", "xwfp-[0-9]{8}", "[A-Za-z0-9-]{0,100})", f"xwfp-{digits(12)}-{digits(13)}-{mix(24)}"), _form("discord-mfa-token", r"mfa\.[A-Za-z0-9_-]{60}", "[A-Za-z0-9_-]{0,60})", f"mfa.{mix(84)}"),
    _form("firebase-server-key", "AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100}", "[A-Za-z0-9_-]{0,120})", f"AAAA{mix(7)}:APA91b{mix(134)}", wide="AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{12}"),
    # Payments and shops
    _form("mercadopago-token", "(?:APP_USR|TEST)-[0-9]{12,16}-[0-9]{6}-[0-9a-f]{32}", "[A-Za-z0-9_-]{0,40})", f"APP_USR-{digits(16)}-{digits(6)}-{hexa(32)}-{digits(9)}"), _open("midtrans-key", "Mid-server-", _SIGNS, 16),
    _exact("mollie-test-key", "test_", _ALL, 30), _form("lob-key", "(?:live|test)_[0-9a-f]{35}", _CLOSED, f"live_{hexa(35)}", f"test_{hexa(32)}"), _form("gocardless-token", "(?:live|sandbox)_[A-Za-z0-9_-]{40}", _CLOSED, f"live_{mix(8)}-{mix(31)}", check=three_kinds), _open("fleetbase-key", "flb_(?:live|test)_", _ALL, 20), _exact("woocommerce-key", "c[sk]_", _HEX, 40, not_words), _open("xendit-test-key", "xnd_development_", _ALL, 40),
    _open("paddle-other-key", "pdl_(?:sdbx_apikey|ntfset)_", _SIGNS, 30), _open("polar-other-token", "polar_(?:rt|cs|ci|whs|oas|ort)_", _SIGNS, 20), _open("persona-test-key", "persona_sandbox_", _SIGNS, 20), _open("onfido-test-token", r"api_sandbox\.", _SIGNS, 20),
    _form("circle-key", "(?:LIVE|TEST|SAND)_API_KEY:(?P<secret>[0-9a-f]{32}", "(?::[0-9a-f]{32})?)", f"LIVE_API_KEY:{hexa(32)}:{hexa(32)}"), _form("sumsub-token", r"(?:prd|sbx):(?P<secret>[A-Za-z0-9]{24}\.[A-Za-z0-9]{32}", _CLOSED, f"prd:{mix(24)}.{mix(32)}"),
    _form("adyen-key", "AQ[EF][A-Za-z]hm[A-Za-z0-9+/]{40}", "[A-Za-z0-9+/=-]{0,300})", f"AQEyhmfx{mix(80)}==-{mix(43)}=-{mix(16)}"), _open("klarna-key", "klarna_(?:live|test)_api_", "[A-Za-z0-9!?()*/_-]", 40), _open("revolut-token", "oa_(?:prod|sand)_", _SIGNS, 32), _open("aftership-token", "asat_", _HEX, 32),
    _open("kit-key", "kit_", _HEX, 32), _open("orbit-token", "obu_", _ALL, 36, three_kinds), _open("dvc-studio-token", "isat_", _ALL, 36, three_kinds), _open("sindri-key", "sindri_", _ALL, 28), _open("tolgee-token", "tgpa[tk]_", _LOWER, 40), _open("testkube-key", "tkc(?:api|agnt|sys)_", _HEX, 24), _exact("dub-key", "dub_", _ALL, 24), _form("seam-key", "seam_[A-Za-z0-9]{4,24}_[A-Za-z0-9]{20}", "[A-Za-z0-9]{0,40})", f"seam_{mix(8)}_{mix(24)}", check=three_kinds), _exact("warpstream-key", "aks_", _HEX, 64, not_words), _open("teamwork-token", r"tkn\.v1_", "[A-Za-z0-9=]", 50), _open("bannerbear-key", "bb_(?:pr|ma)_", _ALL, 24, three_kinds), _form("voiceflow-key", r"VF\.(?:DM|WS)\.[0-9a-f]{24}\.", "[A-Za-z0-9]{10,24})", f"VF.DM.{hexa(24)}.{mix(16)}"), _form("robinhood-key", f"rh-api-{_UUID}", _CLOSED, f"rh-api-{uuid()}"), _open("salad-key", "salad_cloud_user_", _ALL, 40), _open("mappedin-secret", "mis_", _ALL, 51, three_kinds), _exact("coderabbit-key", "cr-", _HEX, 58, not_words), _PIPEDREAM, _open("lightspeed-token", "lsxs_[pa]t_", _ALL, 30), _open("radar-key", "prj_(?:live|test)_sk_", _HEX, 36), _form("mapillary-token", r"MLY\|[0-9]{10,20}\|(?P<secret>[0-9a-f]{32}", _CLOSED, f"MLY|{digits(16)}|{hexa(32)}"), _form("imagekit-key", "private_[A-Za-z0-9+/]{27}=", _CLOSED, f"private_{mix(27)}=", check=three_kinds),
    _form("close-key", r"api_[A-Za-z0-9]{18,26}\.[A-Za-z0-9]{18}", r"[A-Za-z0-9]{0,8})(?![A-Za-z0-9])", f"api_{mix(22)}.{mix(22)}", check=three_kinds),
    # Data, content and people
    _open("elastic-service-token", "AAEAAWVsYXN0aWMv", "[A-Za-z0-9+/=]", 20), _open("crunchy-key", "cbkey_", _ALL, 30), _open("materialize-password", "mzp_", _HEX, 60), _exact("yandex-static-key", "YC", _SIGNS, 38), _exact("fauna-secret", "fnA[A-Z]", _SIGNS, 36), _open("hex-token", "hxt[pw]_", _HEX, 60), _form("metabase-key", "mb_[A-Za-z0-9+/]{43}=", _CLOSED, f"mb_{mix(43)}="),
    _open("lightdash-token", "ld(?:pat|svc)_", _HEX, 32), _open("adafruit-key", "aio_", _ALL, 26), _open("arcjet-key", "ajkey_", _LOWER, 24), _form("airtable-oauth-token", r"oaa[A-Za-z0-9]{14}\.v1\.[A-Za-z0-9_-]{16}", "[A-Za-z0-9_.-]{0,400})", f"oaa{mix(14)}.v1.{mix(22)}-{mix(22)}.{hexa(64)}"),
    _form("block-protocol-key", rf"b10ck5\.[0-9a-f]{{32}}\.{_UUID}", _CLOSED, f"b10ck5.{hexa(32)}.{uuid()}"), _exact("builder-key", "bpk-", _HEX, 32, not_words), _open("sanity-token", "sk", _ALL, 78, three_kinds), _form("ghost-key", "[0-9a-f]{24}:[0-9a-f]{64}", _CLOSED, f"{hexa(24)}:{hexa(64)}", wide="[0-9a-f]{24}:[0-9a-f]{20}"),
    _open("intercom-token", "dG9rO", "[A-Za-z0-9+/=]", 50), _form("linkedin-secret", r"WPL_AP[01]\.[A-Za-z0-9]{12}", r"[A-Za-z0-9]{0,8}(?:\.[A-Za-z0-9+/=_-]{4,12})?)", f"WPL_AP1.{mix(16)}.{mix(6)}=="), _open("linkedin-token", "AQ[UVWX]", _SIGNS, 140, three_kinds),
    _form("twitch-token", "oauth:(?P<secret>[a-z0-9]{30}", _CLOSED, f"oauth:{mix(30).lower()}", check=_lower_mixed), _form("twitch-stream-key", "live_[0-9]{6,12}_[A-Za-z0-9]{24}", "[A-Za-z0-9]{0,12})", f"live_{digits(9)}_{mix(30)}"), _open("instagram-threads-token", "(?:IG|TH)AA", _ALL, 60), _open("tiktok-token", r"(?:act|rft)\.", "[A-Za-z0-9!*]", 60, three_kinds), _open("pinterest-refresh-token", "pinr_", _SIGNS, 20),
    _open("vk-token", r"vk1\.a\.", _SIGNS, 60), _form("riot-key", f"RGAPI-{_UUID}", _CLOSED, f"RGAPI-{uuid()}"), _form("roblox-cookie", r"WARNING:-DO-NOT-SHARE-THIS[^|\n]{0,200}\|_(?P<secret>[0-9A-Fa-f]{100}", "[0-9A-Fa-f]{0,2000})", f"_|WARNING:-DO-NOT-SHARE-THIS.--Sharing|_{hexa(200)}"),
    _form("google-auth-code", "4/0A[A-Za-z0-9_-]{40}", "[A-Za-z0-9_-]{0,80})", f"4/0A{mix(70)}", check=three_kinds), _form("microsoft-refresh-token", r"[01]\.A[A-Za-z0-9_-]{20}", r"[A-Za-z0-9_-]{0,200}\.Ag[A-Za-z0-9_-]{40,4096})", f"0.A{mix(80)}.AgABAAEAAAD{mix(200)}"),
    _form("microsoft-live-token", r"M\.[CR][0-9]{1,4}_[A-Z0-9]{2,4}\.[A-Za-z0-9.!*$_-]{40}", "[A-Za-z0-9.!*$_-]{0,2000})", f"M.C105_BAY.0.U.-{mix(200)}"), _open("salesforce-refresh-token", "5Aep", "[A-Za-z0-9._]", 60, three_kinds),
    _form("dropbox-long-token", "[A-Za-z0-9_-]{11}A{10}[A-Za-z0-9_=-]{43}", _CLOSED, f"{mix(11)}{'A' * 10}{mix(43)}", check=three_kinds, wide="A{10}[A-Za-z0-9_=-]{12}"),
    _open("ory-token", "(?:ory|authelia)_(?:pat|at|rt|ac|st|apikey|wak|wat)_", "[A-Za-z0-9_.-]", 24),
    _form("nextcloud-password", "[A-Za-z0-9]{5}(?:-[A-Za-z0-9]{5}){4}", _CLOSED, "Jwg1S-PN5Jj-IWPxx-yA40j-tT1Sv", "W269N-WFGWX-YVC9B-4J6C9-T83GX", check=_mixed_groups),
    # Coins and signed tokens
    _open("alchemy-key", "alcht_", _ALL, 28), _open("quicknode-key", "QN_", _HEX, 32), _form("tatum-key", "t-[0-9a-f]{24}-[0-9a-f]{24}", _CLOSED, f"t-{hexa(24)}-{hexa(24)}"), _exact("blockfrost-key", "(?:mainnet|preprod|preview|testnet)", _ALL, 32), _open("minisign-key", "RW(?:RTY0Iy|RCSwAA|QAAEIy)", _B64, 60), _open("sui-key", "suiprivkey1", _LOWER, 50), _open("aptos-key", "(?:ed25519|secp256k1)-priv-0x", _HEX, 60),
    _form("stellar-seed", "S[A-D][A-Z2-7]{54}", _CLOSED, "SCZANGBA5YHTNYVVV4C3U252E2B6P6F5T3U6MM63WBSBZATAQI3EBTQ4", f"S{'A' * 20}{'B' * 35}", check=_stellar_seed), _form("tezos-key", f"(?:edsk|spsk|p2sk|edesk){BASE58}{{50}}", f"{BASE58}{{0,60}})(?![A-Za-z0-9])", f"edsk{_base58(50)}", check=three_kinds),
    _form("eos-key", f"PVT_[KR]1_{BASE58}{{40}}", f"{BASE58}{{0,20}})", f"PVT_K1_{_base58(50)}"), _form("near-key", f"ed25519:(?P<secret>{BASE58}{{86}}", f"{BASE58}{{0,4}})(?![A-Za-z0-9])", f"ed25519:{_base58(87)}"),
    _form("bip38-key", f"6P{BASE58}{{56}}", _CLOSED, "6PRVWUbkzzsbcVac2qwfssoUJAN1Xhrg6bNk8J7Nzm5H7kxEbn2Nh2ZoGg", check=base58check), _open("lnd-macaroon", "0201036c6e64", _HEX, 60), _form("macaroon", "MDA[wxyz][A-Za-z0-9]{2}xvY2F0aW9uI[A-Za-z0-9+/_-]{40}", "[A-Za-z0-9+/=_-]{0,2000})", f"MDAxOGxvY2F0aW9uI{mix(120)}"),
    _form("paseto", r"v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{40}", "[A-Za-z0-9_.-]{0,4096})", f"v4.local.{mix(120)}"), _form("paserk", r"k[1-4]\.(?:secret|local|secret-wrap|local-wrap|secret-pw|local-pw|seal)\.[A-Za-z0-9_.-]{32}", "[A-Za-z0-9_.-]{0,400})", f"k4.secret.{mix(86)}"),
    # Seen among other letters too
    Rule("django-secret", "secret", "a generated Django key", r"django-insecure-", r"[^\s\"'\f]{20,}", rank=SHAPE,
         hits=("SECRET_KEY='django-insecure-jb%--m2rhe2g6x^qk59+)c1jyls9*c4r'",)),
    Rule("twilio-token", "secret", "a Twilio token beside its account",
         r"AC[0-9a-f]{32}:", r"(?P<secret>[0-9a-f]{32})", rank=SHAPE, hits=(f"curl -u AC{hexa(32)}:{hexa(32)} https://x",)),
    Rule("nkey-seed", "private-key", "the seed of a NATS key", rf"{EDGE}(?P<secret>S[UANOCX][A-Z2-7]{{56}}", r")(?![A-Z2-7])", rank=SHAPE,
         hits=("use SU" + "QK2M4X3V5B6N2C6Z5L7PDFGHJTRW" * 2,)),
    Rule("license-pair", "secret", "a license of two short halves",
         r"(?:_KEY|__COM|contribsys\.com|SIDEKIQ[A-Z_]{0,20})[=: \f][\"']?(?P<secret>[0-9a-f]{8}:[0-9a-f]{8}", r")(?![0-9a-f:])", check=is_opaque, caseless=True, rank=GUESS,
         hits=(f"SIDEKIQ_PRO_KEY={hexa(8)}:{hexa(16)[8:]}",), misses=("a_key=00000000:00000000",)),
    Rule("slack-cookie", "slack-token", "a cookie of Slack with its signs", r"xoxd-", r"[A-Za-z0-9%+/=_-]{20,400}", rank=SHAPE,
         hits=(f"d=xoxd-{mix(40)}%2B{mix(12)}%3D",)),
    Rule("oauth-word", "secret", "a word of 30 letters that opens a chat",
         r"(?:^|[^A-Za-z])oauth:(?P<secret>[a-z0-9]{30}", r")(?![A-Za-z0-9])", check=lambda match: bool(re.search("[0-9]", match[SECRET])), rank=GUESS,
         hits=(f"NICK bob PASS oauth:{hexa(32)[:30]}", f"/tmp/oauth:{hexa(32)[:30]}.lock"), misses=("oauth:authorizationcodegrantflows",)),
    Rule("fcm-legacy-key", "fcm-key", "a key of a service that sends to telephones",
         r"AAAA[A-Za-z0-9_-]{7}:APA91", r"[A-Za-z0-9_-]{60,400}", rank=SHAPE,
         hits=(f"use AAAA{mix(7)}:APA91b{mix(134)} now", f"/tmp/AAAA{mix(7)}:APA91b{mix(134)}.lock")),
)  # fmt: skip
