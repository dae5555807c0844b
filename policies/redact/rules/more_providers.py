"""More tokens that name their issuer, one line each: kind, prefix, letters behind it, how many."""

import re
from collections.abc import Callable
from typing import Final

from policies.redact.rule import EDGE, PROVIDER, Rule
from policies.redact.rules.samples import hexa, mix, upper

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
    ("clickhouse-key", "4b1d", _ALL, 38), ("clojars-token", "CLOJARS_", _ALL, 40), ("cloudsmith-key", "csa_", _HEX, 30),
    ("cockroach-key", "CCDB1_", _SIGNS, 40), ("configcat-key", "configcat-sdk-1/", "[A-Za-z0-9_/-]", 40), ("astra-token", "AstraCS:", "[A-Za-z0-9:]", 20),
    ("dnkey", "dnkey-", _SIGNS, 40), ("deno-token", "ddp_", _ALL, 36), ("deno-org-token", "ddo_", _ALL, 36), ("devcycle-key", "dvc_server_", _SIGNS, 8),
    ("devcycle-client-key", "dvc_client_", _SIGNS, 8), ("devcycle-mobile-key", "dvc_mobile_", _SIGNS, 8), ("devin-user-key", "apk_user_", "[A-Za-z0-9+/=]", 60),
    ("devin-key", "apk_", "[A-Za-z0-9+/=]", 60), ("devin-token", "cog_", _ALL, 40), ("swarm-token", "SWMTKN-1-", _SIGNS, 40), ("swarm-key", "SWMKEY-1-", "[A-Za-z0-9+/]", 36),
    ("duffel-token", "duffel_live_", _SIGNS, 30), ("duffel-test-token", "duffel_test_", _SIGNS, 30), ("dynatrace-any-token", "dt0c01.", "[A-Za-z0-9.]", 60), ("easypost-key", "EZAK", _ALL, 40),
    ("easypost-test-key", "EZTK", _ALL, 40), ("elastic-key", "essu_", _SIGNS, 40), ("endor-key", "endr+", "[A-Za-z0-9-]", 16), ("exoscale-key", "EXO", _ALL, 24), ("flutterwave-public", "FLWPUBK_TEST-", "[A-Za-z0-9-]", 20), ("flyio-macaroon", "FlyV1 ", "[A-Za-z0-9=_,/+-]", 60),
    ("frameio-token", "fio-u-", _SIGNS, 40), ("gemini-auth-key", "AQ.Ab8RN6", _SIGNS, 30), ("grafana-key", "eyJrIjoi", "[A-Za-z0-9+/=]", 40),
    ("infracost-key", "ico-", _ALL, 32), ("intra42-secret", "s-s4t2ud-", _HEX, 60), ("intra42-af-secret", "s-s4t2af-", _HEX, 60), ("ionic-token", "ion_", _ALL, 40), ("lichess-token", "lip_", _SIGNS, 18),
    ("llama-cloud-key", "llx-", _ALL, 40), ("mailersend-token", "mlsn.", _ALL, 30), ("mercury-token", "mercury_production_", _SIGNS, 40), ("mergify-key", "mergify_application_key_", _SIGNS, 30),
    ("miro-token", "eyJtaXJv", _SIGNS, 30), ("nylas-key", "nyk_", _ALL, 50), ("octopus-key", "API-", _CAPITALS, 26), ("onesignal-key", "os_v2_", _SIGNS, 60),
    ("onfido-ca-token", "api_live_ca.", _SIGNS, 20), ("onfido-us-token", "api_live_us.", _SIGNS, 20), ("onfido-token", "api_live.", _SIGNS, 20), ("openshift-token", "sha256~", _SIGNS, 40),
    ("paddle-key", "pdl_live_apikey_", _SIGNS, 40), ("persona-key", "persona_production_", _SIGNS, 20), ("pinterest-token", "pina_", _SIGNS, 20), ("polar-token", "polar_at_", _SIGNS, 20),
    ("polar-org-token", "polar_oat_", _SIGNS, 20), ("polar-user-token", "polar_pat_", _SIGNS, 20), ("posthog-project-key", "phc_", _SIGNS, 40),
    ("proof-key", "prf_", _SIGNS, 24), ("ramp-secret", "ramp_sec_", _ALL, 40), ("runpod-key", "rpa_", _ALL, 30), ("rootly-key", "rootly_", _HEX, 60), ("samsara-token", "samsara_api_", _ALL, 24),
    ("scalingo-token", "tk-us-", _SIGNS, 40), ("sendinblue-key", "xkeysib-", _SIGNS, 60), ("settlemint-token", "sm_pat_", _ALL, 16), ("settlemint-app-token", "sm_aat_", _ALL, 16),
    ("settlemint-service-token", "sm_sat_", _ALL, 16), ("shippo-token", "shippo_live_", _HEX, 40), ("shippo-test-token", "shippo_test_", _HEX, 40), ("square-any-token", "EAAA", _SIGNS, 40),
    ("thunderstore-token", "tss_", _SIGNS, 24), ("together-key", "tgp_v1_", _SIGNS, 40), ("unkey-key", "unkey_", _ALL, 20), ("upcloud-token", "ucat_", _ALL, 24),
    ("valtown-token", "vtwn_", _SIGNS, 20), ("wakatime-key", "waka_", _SIGNS, 36), ("wandb-key", "wandb_v1_", _SIGNS, 60), ("xendit-key", "xnd_production_", _ALL, 50),
    ("zuplo-key", "zpka_", _SIGNS, 36), ("packagist-secret", "packagist_acs_", _HEX, 60), ("packagist-read-token", "packagist_ort_", _HEX, 60), ("packagist-token", "packagist_out_", _HEX, 60),
    ("postman-token", "PMAT-", _ALL, 26), ("checkout-key", "sk_sbox_", _ALL, 20), ("artifactory-token", "cmVmd", _ALL, 59),
)  # fmt: skip


def _rule(kind: str, prefix: str, letters: str, least: int) -> Rule:
    sample = prefix + _SAMPLE.get(letters, mix)(least + 2)
    return Rule(
        kind, kind, f"a token that begins with {prefix.strip()}",
        rf"{EDGE}(?P<secret>{re.escape(prefix)}{letters}{{{least}}}", f"{letters}{{0,4096}})",
        rank=PROVIDER, hits=(f"use {sample} now", f"/tmp/{sample}/x"), misses=(f"{prefix}x",),
    )  # fmt: skip


RULES: Final[tuple[Rule, ...]] = (
    *(_rule(*row) for row in _TABLE),
    Rule("onepassword-key", "onepassword-key", "a 1Password secret key", rf"{EDGE}(?P<secret>A3-[A-Z0-9]{{6}}-[A-Z0-9]{{6}}", r"[A-Z0-9-]{16,32})", rank=PROVIDER,
         hits=("key A3-Q7K2M9-X4V1B8N3C6Z-5L0PD-FGHJT-RWYUE",)),
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
