"""More tokens that name their issuer, one line each: kind, prefix, letters behind it, how many."""

import re
from collections.abc import Callable
from typing import Final

from policies.redact.rule import EDGE, GUESS, PROVIDER, Rule
from policies.redact.rules.checks import private_and_mixed, three_kinds
from policies.redact.rules.checks_around import not_words
from policies.redact.rules.samples import digits, hexa, mix, upper, uuid

_ALL, _SIGNS, _HEX, _CAPITALS = "[A-Za-z0-9]", "[A-Za-z0-9_=-]", "[0-9a-fA-F]", "[A-Z0-9]"
_SAMPLE: Final[dict[str, Callable[[int], str]]] = {
    _ALL: mix, _SIGNS: mix, _HEX: hexa, _CAPITALS: upper,
}  # fmt: skip

# An underscore, dash, dot or plus in the prefix, or a run of letters that no word has.
_TABLE: Final = (
    ("sandtrail-token", "sandtrail_", _SIGNS, 40),  # our own, of `audit serve`
    ("adobe-secret", "p8e-", _ALL, 32), ("aikido-token", "AIK_CI_", _ALL, 20), ("aikido-secret", "AIK_SECRET_", _ALL, 40),
    ("apify-token", "apify_api_", _ALL, 30), ("asaas-token", "$aact_", _SIGNS, 20), ("atlassian-old-token", "ATATT", _SIGNS, 60),
    ("bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/=]", 20), ("bitbucket-dc-token", "BBDC-", "[A-Za-z0-9+/=]", 32),
    ("brave-key", "BSA", _SIGNS, 24), ("buildkite-pat", "bkpat_", _SIGNS, 40), ("buildkite-agent", "bkaa_", _SIGNS, 40),
    ("buildkite-cluster", "bkct_", _SIGNS, 40), ("canva-secret", "cnvca", _SIGNS, 40), ("cartesia-key", "sk_car_", _SIGNS, 20),
    ("clickhouse-key", "4b1d", _ALL, 38), ("clojars-token", "CLOJARS_", _ALL, 40), ("cloudsmith-key", "csa_", _ALL, 30),
    ("cockroach-key", "CCDB1_", _SIGNS, 40), ("configcat-key", "configcat-sdk-1/", "[A-Za-z0-9_/-]", 40), ("astra-token", "AstraCS:", "[A-Za-z0-9:]", 20),
    ("dnkey", "dnkey-", _SIGNS, 40), ("deno-token", "ddp_", _ALL, 36), ("deno-org-token", "ddo_", _ALL, 36), ("devcycle-key", "dvc_server_", _SIGNS, 8),
    ("devcycle-client-key", "dvc_client_", _SIGNS, 8), ("devcycle-mobile-key", "dvc_mobile_", _SIGNS, 8), ("devin-user-key", "apk_user_", "[A-Za-z0-9+/=]", 60),
    ("devin-key", "apk_", "[A-Za-z0-9+/=]", 60), ("devin-token", "cog_", _ALL, 40), ("swarm-token", "SWMTKN-1-", _SIGNS, 40), ("swarm-key", "SWMKEY-1-", "[A-Za-z0-9+/]", 36),
    ("duffel-token", "duffel_live_", _SIGNS, 30), ("duffel-test-token", "duffel_test_", _SIGNS, 30), ("dynatrace-any-token", "dt0c01.", "[A-Za-z0-9.]", 60), ("easypost-key", "EZAK", _ALL, 40),
    ("easypost-test-key", "EZTK", _ALL, 40), ("elastic-key", "essu_", "[A-Za-z0-9+/=_-]", 40), ("endor-key", "endr+", "[A-Za-z0-9-]", 16), ("exoscale-key", "EXO", _ALL, 24), ("flutterwave-public", "FLWPUBK_TEST-", "[A-Za-z0-9-]", 20), ("flyio-macaroon", "FlyV1 ", "[A-Za-z0-9=_,/+-]", 60),
    ("frameio-token", "fio-u-", _SIGNS, 40), ("gemini-auth-key", "AQ.Ab8RN6", _SIGNS, 30), ("grafana-key", "eyJrIjoi", "[A-Za-z0-9+/=]", 40),
    ("google-hmac-id", "GOOG1E", _CAPITALS, 18), ("infracost-key", "ico-", _ALL, 32), ("intra42-secret", "s-s4t2ud-", _HEX, 60), ("intra42-af-secret", "s-s4t2af-", _HEX, 60), ("ionic-token", "ion_", _ALL, 40), ("lichess-token", "lip_", _SIGNS, 18),
    ("llama-cloud-key", "llx-", _ALL, 40), ("mailersend-token", "mlsn.", _ALL, 30), ("mercury-token", "mercury_production_", _SIGNS, 40), ("mergify-key", "mergify_application_key_", _SIGNS, 30),
    ("miro-token", "eyJtaXJv", _SIGNS, 30), ("nylas-key", "nyk_", _ALL, 50), ("octopus-key", "API-", _CAPITALS, 26), ("onesignal-key", "os_v2_", _SIGNS, 60),
    ("onfido-ca-token", "api_live_ca.", _SIGNS, 20), ("onfido-us-token", "api_live_us.", _SIGNS, 20), ("onfido-token", "api_live.", _SIGNS, 20), ("openshift-token", "sha256~", _SIGNS, 40),
    ("paddle-key", "pdl_live_apikey_", _SIGNS, 40), ("persona-key", "persona_production_", _SIGNS, 20), ("pinterest-token", "pina_", _SIGNS, 20), ("polar-token", "polar_at_", _SIGNS, 20),
    ("polar-org-token", "polar_oat_", _SIGNS, 20), ("polar-user-token", "polar_pat_", _SIGNS, 20),
    ("proof-key", "prf_", _SIGNS, 24), ("ramp-secret", "ramp_sec_", _ALL, 40), ("runpod-key", "rpa_", _ALL, 30), ("rootly-key", "rootly_", _HEX, 60), ("samsara-token", "samsara_api_", _ALL, 24),
    ("scalingo-token", "tk-us-", _SIGNS, 40), ("sendinblue-key", "xkeysib-", _SIGNS, 60), ("settlemint-token", "sm_pat_", _ALL, 16), ("settlemint-app-token", "sm_aat_", _ALL, 16),
    ("settlemint-service-token", "sm_sat_", _ALL, 16), ("shippo-token", "shippo_live_", _HEX, 40), ("shippo-test-token", "shippo_test_", _HEX, 40), ("square-any-token", "EAAA", _SIGNS, 24),
    ("thunderstore-token", "tss_", _SIGNS, 20), ("together-key", "tgp_v1_", _SIGNS, 40), ("unkey-key", "unkey_", _ALL, 20), ("upcloud-token", "ucat_", _ALL, 24),
    ("valtown-token", "vtwn_", _SIGNS, 20), ("wakatime-key", "waka_", _SIGNS, 36), ("wandb-key", "wandb_v1_", _SIGNS, 60), ("xendit-key", "xnd_production_", _ALL, 50),
    ("zuplo-key", "zpka_", _SIGNS, 36), ("packagist-secret", "packagist_acs_", _HEX, 60), ("packagist-read-token", "packagist_ort_", _HEX, 60), ("packagist-token", "packagist_out_", _HEX, 60),
    ("pydantic-token", "pylf_v1_", _SIGNS, 30), ("retool-token", "retool_01", _ALL, 20), ("supabase-secret", "sb_secret_", _SIGNS, 20), ("trigger-key", "tr_prod_", _ALL, 16),
    ("trigger-dev-key", "tr_dev_", _ALL, 16), ("trigger-pat", "tr_pat_", _ALL, 24), ("xata-key", "xau_", _SIGNS, 30), ("yandex-key", "AQVN", _SIGNS, 30), ("yandex-oauth", "y0_", _SIGNS, 40), ("yandex-oauth-one", "y1_", _SIGNS, 40), ("yandex-oauth-two", "y2_", _SIGNS, 40), ("yandex-oauth-three", "y3_", _SIGNS, 40),
    ("helicone-key", "sk-helicone-", _SIGNS, 20), ("pagerduty-token", "pdus+_", _SIGNS, 20), ("pagerduty-eu-token", "pdeu+_", _SIGNS, 20), ("buildkite-job", "bkaj_", _SIGNS, 40), ("buildkite-registry", "bkar_", _SIGNS, 40),
    ("buildkite-packages", "bkpt_", _SIGNS, 40), ("buildkite-portal", "bkps_", _SIGNS, 30), ("workato-token", "wrkaus-eyJ", "[A-Za-z0-9._-]", 60), ("workato-any-token", "wrka-eyJ", "[A-Za-z0-9._-]", 60),
    ("stytch-secret", "secret-live-", _SIGNS, 30), ("stytch-test-secret", "secret-test-", _SIGNS, 30), ("mercury-full-token", "secret-token:", _SIGNS, 20), ("ebay-secret", "PRD-", _HEX, 12),
    ("ibm-mem0-key", "m0-", _ALL, 32), ("modal-secret", "as-", _ALL, 22), ("modal-token", "ak-", _ALL, 22),
    ("snyk-token", "snyk_", _SIGNS, 30), ("depot-token", "depot_", _SIGNS, 30),
    ("tinybird-token", "p.eyJ", "[A-Za-z0-9._-]", 40), ("upstash-token", "AYNgAS", _SIGNS, 26), ("liveblocks-key", "sk_dev_", _SIGNS, 24), ("liveblocks-prod-key", "sk_prod_", _SIGNS, 10),
    ("inngest-key", "signkey-prod-", _HEX, 32), ("inngest-test-key", "signkey-test-", _HEX, 32),
    ("friendli-token", "flp_", _ALL, 30), ("openvsx-token", "ovsxat_", _SIGNS, 30), ("openvsx-pat", "ovsxp_", _SIGNS, 30), ("axiom-token", "xaat-", _SIGNS, 30), ("axiom-personal-token", "xapt-", _SIGNS, 30),
    ("vercel-blob-token", "vercel_blob_rw_", _SIGNS, 24), ("nostr-key", "nsec1", _ALL, 50), ("k3s-token", "K10", "[A-Za-z0-9:.-]", 60), ("trello-token", "ATTA", "[A-Za-z0-9]", 60),
    ("browserbase-key", "bb_live_", _SIGNS, 20), ("daytona-key", "dtn_", _HEX, 40),
    ("incident-key", "inc_", _HEX, 40), ("coralogix-key", "cxtp_", _ALL, 26), ("deepsource-token", "dsp_", _HEX, 32), ("netbird-token", "nbp_", _ALL, 30),
    ("kong-token", "kpat_", _ALL, 30), ("kong-system-token", "spat_", _ALL, 30), ("jsr-token", "jsrp_", _ALL, 30), ("packagist-user-token", "packagist_uut_", _HEX, 60),
    ("jumpcloud-key", "jca_", _ALL, 30), ("socket-key", "sktsec_", _SIGNS, 40), ("databento-key", "db-", _ALL, 29), ("brex-token", "bxt_", _ALL, 30),
    ("luma-key", "luma-", _SIGNS, 60), ("anyscale-key", "esecret_", _ALL, 24), ("cal-key", "cal_live_", _HEX, 32), ("checkly-key", "cu_", _HEX, 32),
    ("foursquare-key", "fsq3", "[A-Za-z0-9+/=]", 40), ("snyk-uat", "snyk_uat.", "[A-Za-z0-9._-]", 40), ("aiven-password", "AVNS_", _SIGNS, 18), ("matrix-token", "syt_", _SIGNS, 24),
    ("n8n-key", "n8n_api_", _HEX, 40), ("instagram-token", "IGQV", _ALL, 60), ("dashlane-key", "dls_", _ALL, 32),
    ("slack-config-refresh", "xoxe-1-", _ALL, 40), ("atlassian-any-token", "ATAT", _SIGNS, 60), ("atlassian-app-token", "ATCTT", _SIGNS, 60),
    ("postman-token", "PMAT-", _ALL, 26), ("checkout-key", "sk_sbox_", _ALL, 20), ("artifactory-token", "cmVmd", _ALL, 59),
)  # fmt: skip


def _rule(kind: str, prefix: str, letters: str, least: int) -> Rule:
    sample = prefix + _SAMPLE.get(letters, mix)(least + 2)
    # A word before a sign stays readable: sha256~, AstraCS:.
    before = re.match(r"(?:.*[^A-Za-z0-9_.-])?", prefix)[0]  # type: ignore[index]
    inside = prefix[len(before) :]
    return Rule(
        kind, kind, f"a token that begins with {prefix.strip()}",
        rf"{EDGE}{re.escape(before)}(?P<secret>{re.escape(inside)}{letters}{{{least}}}", f"{letters}{{0,4096}})",
        check=not_words, rank=PROVIDER,
        hits=(f"use {sample} now", f"/tmp/{sample}/x"), misses=(f"{prefix}x",),
    )  # fmt: skip


RULES: Final[tuple[Rule, ...]] = (
    *(_rule(*row) for row in _TABLE),
    Rule("asana-token", "asana-pat", "an Asana token", rf"{EDGE}(?P<secret>[12]/[0-9]{{12,20}}(?:/[0-9]{{12,20}})?:[0-9a-f]{{32}}", r")(?![0-9a-f])", rank=PROVIDER,
         hits=(f"use 2/{digits(16)}/{digits(16)}:{hexa(32)}", f"use 1/{digits(16)}:{hexa(32)}"), misses=("1/1200000000000000:done",)),
    Rule("rapidapi-key", "rapidapi-key", "a RapidAPI key", rf"{EDGE}(?P<secret>[0-9a-f]{{10}}msh[0-9a-f]{{15}}p[0-9a-f]{{6}}jsn[0-9a-f]{{12}}", r")", rank=PROVIDER,
         hits=(f"use {hexa(10)}msh{hexa(15)}p{hexa(8)[:6]}jsn{hexa(12)}",)),
    Rule("bitwarden-token", "bitwarden-token", "a machine account of Bitwarden", rf"{EDGE}(?P<secret>0\.[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}\.[A-Za-z0-9]{{20}}", r"[A-Za-z0-9:+/=]{0,80})", rank=PROVIDER,
         hits=(f"use 0.{uuid()}.{mix(30)}:{mix(22)}==",)),
    Rule("onepassword-key", "onepassword-key", "a 1Password secret key", rf"{EDGE}(?P<secret>A3-[A-Z0-9]{{6}}-[A-Z0-9]{{6}}", r"[A-Z0-9-]{16,32})", rank=PROVIDER,
         hits=("key A3-Q7K2M9-X4V1B8N3C6Z-5L0PD-FGHJT-RWYUE",)),
    Rule("zhipu-key", "zhipu-key", "a key of z.ai or Ollama", rf"{EDGE}(?P<secret>[0-9a-f]{{32}}\.[A-Za-z0-9]{{16}}", r"[A-Za-z0-9]{0,16})(?![A-Za-z0-9])", check=three_kinds, rank=PROVIDER,
         hits=(f"use {hexa(32)}.{mix(16)}",), misses=(f"{hexa(32)}.bundlechunkloader",)),
    Rule("vault-old-token", "vault-token", "a service token of an older Vault", rf"{EDGE}(?P<secret>s\.[A-Za-z0-9]{{24}}", r")(?![A-Za-z0-9])", check=three_kinds, rank=PROVIDER,
         hits=(f"use s.{mix(24)}",), misses=("s.objectForKeyedSubscriptAB",)),
    Rule("okta-token", "okta-token", "an Okta API token", rf"{EDGE}(?P<secret>00[A-Za-z0-9]{{4}}[A-Za-z0-9_-]{{36}}", r")(?![A-Za-z0-9+=])(?![/_-][A-Za-z0-9+/_-]{16})", check=three_kinds, rank=PROVIDER,
         hits=(f"use 00{mix(40)}",), misses=(f"use 00{hexa(40)}",)),
    Rule("zoho-token", "zoho-token", "a Zoho token", rf"{EDGE}(?P<secret>100[0-9]\.[0-9a-f]{{32}}\.[0-9a-f]{{20}}", r"[0-9a-f]{0,44}(?:-d)?)", rank=PROVIDER,
         hits=(f"use 1000.{hexa(32)}.{hexa(32)}",)),
    Rule("telnyx-key", "telnyx-key", "a Telnyx key", rf"{EDGE}(?P<secret>KEY[0-9A-Z]{{20,40}}_[A-Za-z0-9]{{10}}", r"[A-Za-z0-9]{0,20})", rank=PROVIDER,
         hits=(f"use KEY{upper(32)}_{mix(22)}",), misses=("KEY_MGMT",)),
    Rule("checkout-old-key", "checkout-key", "a key that is a UUID behind sk_", rf"{EDGE}(?P<secret>(?:[a-z]{{1,8}}[0-9]{{1,2}})?sk[_-](?:test_|live_)?[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}", r"-[0-9a-f-]{17})", rank=PROVIDER,
         hits=(f"use sk_{uuid()}", f"use ctx7sk-{uuid()}"), misses=(f"disk-{uuid()}", f"task-{uuid()}")),
    Rule("yandex-iam", "yandex-token", "a Yandex Cloud IAM token", rf"{EDGE}(?P<secret>t1\.[A-Za-z0-9_-]{{4,400}}={{0,2}}\.[A-Za-z0-9_-]{{40}}", r"[A-Za-z0-9_=-]{0,60})", rank=PROVIDER,
         hits=(f"use t1.{mix(40)}.{mix(86)}",)),
    Rule("tableau-token", "tableau-token", "a Tableau access token", rf"{EDGE}(?P<secret>[A-Za-z0-9+/]{{22}}==:[A-Za-z0-9]{{20}}", r"[A-Za-z0-9]{0,20})", rank=PROVIDER,
         hits=(f"use {mix(22)}==:{mix(32)}",)),
    Rule("mailgun-signing", "mailgun-key", "a Mailgun private key", rf"{EDGE}(?P<secret>[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}", r")(?![0-9a-f])(?!-[0-9a-f]{4})", rank=PROVIDER,
         hits=(f"use {hexa(32)}-{hexa(8)}-{hexa(8)}", f"/tmp/a-{hexa(32)}-{hexa(8)}-{hexa(8)}-old.gz"), misses=(f"{hexa(32)}-{hexa(8)}",)),
    Rule("twitter-access-token", "twitter-token", "an access token of X", rf"{EDGE}(?P<secret>[0-9]{{9,19}}-[A-Za-z0-9]{{35}}", r"[A-Za-z0-9]{0,15})(?![A-Za-z0-9])", check=three_kinds, rank=PROVIDER,
         hits=(f"use {digits(18)}-{mix(40)}",), misses=(f"{digits(10)}-{hexa(40)}",)),
    Rule("cloud-secret-word", "secret", "a generated value behind a word that says what it is",
         rf"{EDGE}(?P<secret>(?:[A-Za-z][A-Za-z0-9]{{1,11}}[_-])?(?:sk|pat|key|secret|live|prod|production|sandbox|token|api|apikey|auth|svc|service|access|refresh|admin)[_-](?:[a-z0-9]{{1,8}}[_-])?[A-Za-z0-9]{{20}}",
         r"[A-Za-z0-9_-]{0,400})", check=private_and_mixed, rank=GUESS,
         hits=(f"use acme_sk_{mix(30)}", f"use foo-live-{mix(24)}"), misses=("test_token_refresh_service_AuthViewControllerTests", f"cache_key_{hexa(40)}")),
    Rule("authress-key", "authress-key", "an Authress access key", rf"{EDGE}(?P<secret>(?:sc|ext|scauth|authress)_[a-z0-9]{{5,30}}\.[a-z0-9]{{4,6}}\.acc[_-]", r"[a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{20,120})", rank=PROVIDER,
         hits=("use ext_3dws6diy4t.eqoye.acc_5symxksg8841.8whyyylughnrurhex5yb4ze38juistzv5",)),
    Rule("maxmind-key", "maxmind-key", "a MaxMind license key", rf"{EDGE}(?P<secret>[A-Za-z0-9]{{6}}_[A-Za-z0-9]{{29}}_mmk", ")", rank=PROVIDER, hits=(f"{mix(6)}_{mix(29)}_mmk",)),
    Rule("salesforce-token", "salesforce-token", "a Salesforce session", rf"{EDGE}(?P<secret>00[A-Za-z0-9]{{13}}!", r"[A-Za-z0-9._-]{40,300})", rank=PROVIDER, hits=(f"00D{mix(12)}!{mix(60)}",)),
    Rule("facebook-app-token", "facebook-token", "a Facebook app token", rf"{EDGE}(?P<secret>[0-9]{{15,16}}[|%][0-9A-Za-z_-]{{27}}", r"[0-9A-Za-z_-]{0,20})", rank=PROVIDER, hits=(f"840636199293843|{mix(30)}",)),
    Rule("slack-legacy-token", "slack-token", "a legacy Slack token", rf"{EDGE}(?P<secret>xox[osar]-[0-9]", r"[0-9A-Za-z-]{8,200})", rank=PROVIDER, hits=("use xoxo-123456789012-123456789012-abcdef",)),
    Rule("slack-app-level-token", "slack-token", "a Slack app token", rf"{EDGE}(?P<secret>xapp-[0-9]-[A-Za-z0-9]", r"[0-9A-Za-z-]{8,200})", caseless=True, rank=PROVIDER, hits=("use xapp-1-A0123456789-1234567890123-abcdef0123456789",)),
    Rule("gitlab-session", "session-cookie", "a GitLab session", r"_gitlab_session=", r"(?P<secret>[0-9a-z]{32})", rank=PROVIDER, hits=(f"_gitlab_session={hexa(32)}",)),
    Rule("gc-notify", "gc-notify-key", "a key of the Canadian notification service", r"gcntfy-[A-Za-z0-9_]{1,64}-[0-9a-f]{8}-[0-9a-f]{4}", r"-(?P<secret>[0-9a-f-]{20,120})", caseless=True, rank=PROVIDER,
         hits=("ApiKey-v1 gcntfy-b-890d931c-7949-4797-a23d-3221c830f0b8-7e651be4-92cf-4145-a62e-0eab5d42dcab",)),
)  # fmt: skip
