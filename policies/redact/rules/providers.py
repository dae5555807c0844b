"""Tokens that name their issuer: a prefix and a length are proof enough, whatever stands around."""

from dataclasses import replace
from typing import Final

from policies.redact.rule import EDGE, PROVIDER, Check, Parts, Rule
from policies.redact.rules.checks_around import not_a_digest, not_words
from policies.redact.rules.checks_format import base58check, jwt_header, jwt_lines
from policies.redact.rules.grammar import BASE58
from policies.redact.rules.samples import digits, hexa, mix, upper, uuid
from policies.redact.values import is_opaque

_W, _D = "[A-Za-z0-9_]", "[A-Za-z0-9_-]"
_A, _H, _U = "[A-Za-z0-9]", "[0-9a-f]", "[A-Z0-9]"
_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_OPEN = "(?P<secret>"


def _token(
    kind: str, issuer: str, prefix: str, letters: str, least: int, example: str, *misses: str
) -> Rule:
    """A prefix and at least so many letters; all that follow belong to it."""
    return Rule(
        kind, kind, issuer, f"{prefix}{letters}{{{least}}}", f"{letters}*",
        check=not_words, rank=PROVIDER, hits=(f"use {example} now", f"/tmp/{example}.lock"), misses=misses,
    )  # fmt: skip


def _shape(
    kind: str, issuer: str, proof: str, rest: str, example: str, *misses: str,
    check: Check | None = None, parts: Parts | None = None, caseless: bool = False,
) -> Rule:  # fmt: skip
    """Any other form; the examples stand between blanks only."""
    closed = rest + ")" if _OPEN in proof else rest
    return Rule(
        kind, kind, issuer, proof, closed, check=check, parts=parts, caseless=caseless, rank=PROVIDER,
        hits=(f"use {example} now",), misses=misses,
    )  # fmt: skip


def _after(proof: str) -> str:
    """The proof with a word border before it that is no part of the secret."""
    return f"{EDGE}{_OPEN}{proof}"


RULES: Final[tuple[Rule, ...]] = (
    _shape("openclaw-token", "agent instance token", f"oct-{_UUID}", "", f"oct-{uuid()}",
           "/data/oct-scan-3195/a.dcm", "report-oct-2019-28.pdf", caseless=True),
    # Source hosting
    _token("github-pat", "GitHub personal access token", "ghp_", _A, 20, f"ghp_{mix(36)}", "ghp_ prefix docs"),
    _token("github-oauth", "GitHub OAuth token", "gho_", _A, 20, f"gho_{mix(36)}"),
    _token("github-app", "GitHub app or refresh token", "gh[usr]_", _A, 20, f"ghs_{mix(36)}"),
    _token("github-fine-grained-pat", "GitHub fine-grained token", "github_pat_", _W, 20, f"github_pat_{mix(22)}_{mix(59)}"),
    _token("gitlab-token", "GitLab tokens of all kinds", "gl(?:pat|dt|ptt|rt|rtr|cbt|ft|ffct|imt|agent|oas|soat|wt)-", "[A-Za-z0-9_.-]", 16, f"glpat-{mix(20)}"),
    _token("gitlab-runner", "GitLab runner registration", "GR1348941", _D, 16, f"GR1348941{mix(20)}"),
    _token("bitbucket-token", "Bitbucket app password", "ATBB", _A, 24, f"ATBB{mix(32)}"),
    _token("sourcegraph-token", "Sourcegraph", "sg[pd]_", _W, 32, f"sgp_{hexa(40)}"),
    # Clouds
    _token("aws-access-key-id", "AWS access key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z2-7]", 12, f"AKIA{'Q7K2M4X3V5B6N2C6'}", "AKIA prefix"),
    _token("aws-session-token", "AWS session token", "(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)", "[A-Za-z0-9/+=%]", 40, f"IQoJb3JpZ2lu{mix(200)}"),
    _token("aws-bedrock-key", "AWS Bedrock API key", "(?:ABSK|bedrock-api-key-)", "[A-Za-z0-9+/=]", 60, f"ABSK{mix(110)}"),
    _token("google-api-key", "Google API key", "AIza", _D, 25, f"AIza{mix(35)}"),
    _token("google-oauth-token", "Google OAuth access token", r"ya29\.", "[A-Za-z0-9_.-]", 20, f"ya29.{mix(80)}"),
    _token("google-refresh-token", "Google OAuth refresh token", "1//0", _D, 30, f"1//0{mix(60)}"),
    _token("google-client-secret", "Google OAuth client secret", "GOCSPX-", _D, 16, f"GOCSPX-{mix(28)}"),
    _shape("azure-client-secret", "Microsoft Entra client secret", _after("[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{24}"), r"[A-Za-z0-9_.~-]*", f"Hw08Q~{mix(34)}"),
    _shape("azure-storage-key", "Azure storage or Cosmos key", "[A-Za-z0-9+/]{86}==", "", f"AccountKey={mix(86)}==", f"sha512-{mix(86)}==", f"base64,{mix(12)}{mix(86)}==", check=not_a_digest),
    _token("azure-devops-token", "Azure DevOps token", "[A-Za-z0-9]{52}JQQJ99", _A, 10, f"{mix(52)}JQQJ99{mix(26)}"),
    _token("digitalocean-token", "DigitalOcean", "do[opr]_v1_", _H, 32, f"dop_v1_{hexa(64)}"),
    _token("heroku-key", "Heroku", "HRKU-", _D, 20, f"HRKU-{uuid()}"),
    _token("fly-token", "Fly.io", "(?:fm[12][ar]?_|fo1_)", "[A-Za-z0-9+/_=,-]", 30, f"fm2_{mix(80)}"),
    _token("vercel-token", "Vercel", "vc[a-z]_", _A, 24, f"vcp_{mix(56)}"),
    _token("netlify-token", "Netlify", "nf[pcou]_", _A, 30, f"nfp_{mix(36)}"),
    _token("cloudflare-token", "Cloudflare", "(?:cfut_|cfat_|cfk_)", _D, 30, f"cfut_{mix(40)}"),
    _shape("cloudflare-origin-key", "Cloudflare origin CA key", r"v1\.0-[0-9a-f]{24}-", "[0-9a-f]{40,}", f"v1.0-{hexa(24)}-{hexa(146)}"),
    _token("render-key", "Render", "rnd_", _A, 24, f"rnd_{mix(32)}"),
    _token("scaleway-key", "Scaleway", "SCW", _U, 17, f"SCW{upper(17)}"),
    _token("alibaba-key", "Alibaba Cloud", "LTAI", _A, 16, f"LTAI{mix(20)}"),
    _token("tencent-key", "Tencent Cloud", "AKID", _A, 30, f"AKID{mix(32)}"),
    _token("pulumi-token", "Pulumi", "pul-", _H, 32, f"pul-{hexa(40)}"),
    _shape("terraform-token", "Terraform Cloud", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{20}", f"{_D}*", f"{mix(14)}.atlasv1.{mix(67)}"),
    _token("tailscale-key", "Tailscale", "tskey-(?:auth|api|client|scim|webhook)-", _D, 12, f"tskey-auth-{mix(16)}-{mix(32)}"),
    _token("ngrok-token", "ngrok API key", "ak_", _A, 27, f"ak_{mix(27)}"),
    # Vaults
    _token("vault-token", "HashiCorp Vault", r"hv[sbr]\.", _D, 20, f"hvs.{mix(90)}"),
    _shape("doppler-token", "Doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{30}", f"{_A}*", f"dp.pt.{mix(43)}"),
    _token("infisical-token", "Infisical", r"st\.", r"[a-f0-9.]", 40, f"st.{hexa(24)}.{hexa(32)}"),
    _token("onepassword-token", "1Password service account", "ops_eyJ", "[A-Za-z0-9+/=_-]", 60, f"ops_eyJ{mix(200)}"),
    _shape("onepassword-secret-key", "1Password secret key", _after("A3-[A-Z0-9]{6}-[A-Z0-9]{5,6}-[A-Z0-9]{5}-[A-Z0-9]{5}"), "(?:-[A-Z0-9]{5})*", "A3-Q7K2M9-X4V1BC-8N3C6-Z5L0P-DFGHJ-TRWYU"),
    _token("age-secret-key", "age identity", "AGE-SECRET-KEY-(?:PQ-)?1", _U, 20, f"AGE-SECRET-KEY-1{upper(58)}"),
    # Models and agents
    _token("anthropic-key", "Anthropic", "sk-ant-", _D, 16, f"sk-ant-api03-{mix(93)}AA"),
    _token("openrouter-key", "OpenRouter", "sk-or-(?:v[0-9]{1,2}-)?", _A, 20, f"sk-or-v1-{hexa(64)}"),
    _token("langfuse-key", "Langfuse secret", "sk-lf-", _D, 20, f"sk-lf-{uuid()}"),
    _token("openai-key", "OpenAI", "sk-(?:proj|svcacct|admin|None|service)-", _D, 20, f"sk-proj-{mix(120)}"),
    _shape("openai-legacy-key", "OpenAI style of other providers", _after("sk-(?:[a-z0-9]{1,8}-)?[A-Za-z0-9]{20}"), f"{_D}*", f"sk-{mix(48)}", "sk-learn-19.14.25 runner"),
    _token("perplexity-key", "Perplexity", "pplx-", _A, 24, f"pplx-{mix(48)}"),
    _token("groq-key", "Groq", "gsk_", _A, 24, f"gsk_{mix(52)}"),
    _token("xai-key", "xAI", "xai-", _W, 30, f"xai-{mix(80)}"),
    _token("huggingface-token", "Hugging Face", "(?:hf|api_org)_", "[A-Za-z0-9]", 24, f"hf_{mix(34)}", "hf_hub_download audit"),
    _token("replicate-token", "Replicate", "r8_", _A, 30, f"r8_{mix(37)}"),
    _token("nvidia-key", "NVIDIA", "nvapi-", _D, 30, f"nvapi-{mix(64)}"),
    _token("cerebras-key", "Cerebras", "csk-", _A, 30, f"csk-{mix(48)}"),
    _token("tavily-key", "Tavily", "tvly-(?:dev-|prod-)?", _A, 20, f"tvly-{mix(32)}"),
    _token("langsmith-key", "LangSmith", "ls(?:v2_(?:pt|sk)|__)_?", "[A-Za-z0-9_]", 20, f"lsv2_pt_{hexa(32)}_{hexa(10)}"),
    _token("pinecone-key", "Pinecone", "pcsk_", _W, 30, f"pcsk_{mix(70)}"),
    _token("fireworks-key", "Fireworks", "fw_", _A, 22, f"fw_{mix(24)}"),
    _token("elevenlabs-key", "ElevenLabs", "sk_", _H, 40, f"sk_{hexa(48)}"),
    _token("e2b-key", "E2B", "e2b_", _H, 32, f"e2b_{hexa(40)}"),
    _token("firecrawl-key", "Firecrawl", "fc-", _H, 28, f"fc-{hexa(32)}"),
    _token("jina-key", "Jina", "jina_", _D, 40, f"jina_{mix(60)}"),
    _shape("voyage-key", "Voyage", _after("(?:pa|al)-[A-Za-z0-9_-]{38}"), f"{_D}*", f"pa-{mix(43)}", "signal-fixture-session-credentials-8y6fi4z4ob", check=not_words),
    _token("cursor-key", "Cursor", "(?:crsr|key)_", _H, 48, f"key_{hexa(64)}"),
    _token("composio-key", "Composio", "comp_", _A, 24, f"comp_{mix(32)}"),
    # Chat
    _token("slack-token", "Slack", "(?:xox[a-z]|xoxe[.-]xox[a-z])-", _D, 12, f"xoxb-{digits(12)}-{digits(13)}-{mix(24)}", "xox build token"),
    _token("slack-app-token", "Slack app level", "xapp-[0-9]{1,2}-", _D, 20, f"xapp-1-A0{upper(9)}-{digits(13)}-{hexa(64)}"),
    Rule("slack-webhook", "slack-webhook", "Slack incoming webhook", r"hooks[.]slack(?:-gov)?[.]com/(?:services|workflows|triggers)/", r"(?P<secret>[A-Za-z0-9/_-]{8,})", check=is_opaque, rank=PROVIDER,
         hits=(f"https://hooks.slack.com/services/T{upper(9)}/B{upper(10)}/{mix(24)}",), misses=("https://hooks.slack.com/docs", "https://hooks.slack.com/services/XXX/YYY/ZZZ", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX")),
    Rule("discord-webhook", "discord-webhook", "Discord webhook", r"discord(?:app)?[.]com/api/(?:v[0-9]{1,2}/)?webhooks/", f"(?P<secret>[0-9]{{10,24}}/{_D}{{20,}})", check=is_opaque, rank=PROVIDER,
         hits=(f"https://discord.com/api/webhooks/{digits(18)}/{mix(68)}",)),
    Rule("teams-webhook", "teams-webhook", "Microsoft Teams webhook", r"webhook[.]office[.]com/webhookb2/", r"(?:[0-9a-f@-]{20,80}/IncomingWebhook/)?(?P<secret>[A-Za-z0-9@/_-]{20,})", rank=PROVIDER,
         hits=(f"https://acme.webhook.office.com/webhookb2/{uuid()}@{uuid()}/IncomingWebhook/{hexa(32)}/{uuid()}",)),
    _shape("discord-token", "Discord bot", _after(r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25}"), f"{_D}*", f"NTc4NjA3ODMzMTc1NjE1NTY4.GB4Q3P.{mix(27)}", "com.example.secretary.index"),
    _shape("telegram-token", "Telegram bot", r"(?:^|[^A-Za-z0-9]|bot|%[0-9A-Fa-f]{2})(?P<secret>[0-9]{8,10}:A[A-Za-z0-9_-]{30}", f"{_D}*", f"{digits(10)}:AA{mix(33)}"),
    # Payments
    _token("stripe-key", "Stripe secret or restricted key", "(?:sk|rk)_(?:live|test|prod)_", _A, 10, f"sk_test_{mix(99)}"),
    _token("webhook-secret", "Stripe or Svix webhook secret", "whsec_", "[A-Za-z0-9+/=]", 20, f"whsec_{mix(32)}"),
    _token("square-token", "Square", "(?:sq0(?:atp|csp|csb)-|EAAAE|EAAAl)", _D, 22, f"sq0atp-{mix(22)}"),
    _token("paypal-token", "PayPal or Braintree", r"access_token\$(?:production|sandbox)\$", r"[a-z0-9$]", 30, f"access_token$production${hexa(16)}${hexa(32)}"),
    _shape("plaid-token", "Plaid", f"access-(?:sandbox|development|production)-{_UUID}", "", f"access-sandbox-{uuid()}"),
    _token("razorpay-key", "Razorpay", "rzp_(?:live|test)_", _A, 14, f"rzp_live_{mix(14)}"),
    _token("flutterwave-key", "Flutterwave", "FLWSECK(?:_TEST)?-", _A, 12, f"FLWSECK-{hexa(32)}-X"),
    _token("shopify-token", "Shopify", "shp(?:at|ca|pa|ss|tka|ua|it)_", "[A-Fa-f0-9]", 24, f"shpat_{hexa(32)}"),
    # Packages and images
    _token("npm-token", "npm", "npm_", _A, 30, f"npm_{mix(36)}"),
    _token("pypi-token", "PyPI", "pypi-", _D, 40, f"pypi-AgEIcHlwaS5vcmc{mix(150)}"),
    _token("rubygems-key", "RubyGems", "rubygems_", _H, 32, f"rubygems_{hexa(48)}"),
    _token("crates-token", "crates.io", "cio", _A, 32, f"cio{mix(32)}"),
    _token("docker-token", "Docker Hub", "dckr_(?:pat|oat)_", _D, 20, f"dckr_pat_{mix(27)}"),
    _token("nuget-key", "NuGet", "oy2", "[a-z0-9]", 43, f"oy2{hexa(43)}"),
    _token("artifactory-key", "Artifactory", "(?:AKCp|cmVmdGtuOj)", _A, 40, f"AKCp{mix(69)}"),
    # Mail and phone
    _shape("sendgrid-key", "SendGrid", r"SG\.[A-Za-z0-9_-]{16,24}\.[A-Za-z0-9_-]{20}", f"{_D}*", f"SG.{mix(22)}.{mix(43)}"),
    _shape("mailgun-key", "Mailgun", _after("key-[0-9a-f]{32}"), "(?![0-9a-f])", f"key-{hexa(32)}"),
    _shape("mailchimp-key", "Mailchimp", "[0-9a-f]{32}-us[0-9]", "[0-9]?", f"{hexa(32)}-us12"),
    _shape("twilio-key", "Twilio API key", _after("SK[0-9a-fA-F]{32}"), "", f"SK{hexa(32)}"),
    _shape("resend-key", "Resend", _after("re_[A-Za-z0-9]{8}_[A-Za-z0-9]{18}"), "[A-Za-z0-9]{0,20}", f"re_{mix(8)}_{mix(24)}", "re_match_group_capture_pattern_object"),
    _token("brevo-key", "Brevo", "x(?:keysib|smtpsib)-", "[A-Za-z0-9-]", 40, f"xkeysib-{hexa(64)}-{upper(16)}"),
    # Work tools
    _token("atlassian-token", "Atlassian", "AT(?:ATT3|CTT3)", "[A-Za-z0-9_=-]", 40, f"ATATT3xFfGF0{mix(170)}=7BD2A9F0"),
    _token("notion-token", "Notion", "(?:ntn_|secret_)", _A, 40, f"ntn_{mix(46)}"),
    _token("linear-key", "Linear", "lin_(?:api|oauth|wh)_", _A, 24, f"lin_api_{mix(40)}"),
    _token("figma-token", "Figma", "fig[dour]_", _D, 24, f"figd_{mix(40)}"),
    _shape("airtable-token", "Airtable", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{24}", f"{_H}*", f"pat{mix(14)}.{hexa(64)}"),
    _token("clickup-token", "ClickUp", "pk_[0-9]{5,10}_", _U, 24, f"pk_{digits(8)}_{upper(32)}", "pk_core_table_compile"),
    _token("dropbox-token", "Dropbox", r"sl\.(?:u\.)?", _D, 60, f"sl.{mix(130)}"),
    _shape("hubspot-token", "HubSpot", f"pat-(?:na|eu|ap)[0-9]-{_UUID}", "", f"pat-na1-{uuid()}", caseless=True),
    _token("contentful-token", "Contentful", "CFPAT-", _D, 30, f"CFPAT-{mix(43)}"),
    _token("typeform-token", "Typeform", "tfp_", "[A-Za-z0-9_.=-]", 30, f"tfp_-6{mix(42)}"),
    _token("postman-key", "Postman", "PMAK-", "[A-Za-z0-9-]", 40, f"PMAK-{hexa(24)}-{hexa(34)}"),
    _token("readme-key", "ReadMe", "rdme_", "[a-z0-9]", 40, f"rdme_{hexa(70)}"),
    _shape("facebook-token", "Facebook", _after("EAA[A-Za-z0-9]{61}"), "[A-Za-z0-9]*", f"EAAB{mix(120)}", f"sha512-9CBYEAA{mix(64)}==", check=not_words),
    _token("twitter-bearer", "X app bearer", "A{20}", "[A-Za-z0-9%]", 60, f"{'A' * 20}{mix(80)}"),
    # Watching and building
    _token("newrelic-key", "New Relic", "NR(?:AK|RA|II|JS)-", "[A-Za-z0-9_-]", 16, f"NRAK-{upper(27)}"),
    _shape("newrelic-license", "New Relic license key", "(?:[a-z]{2,3}[0-9]{2}xx)?[0-9a-fA-F]{30,36}(?:FFFF)?NRAL", "", f"{hexa(36)}NRAL"),
    _token("grafana-cloud-token", "Grafana Cloud", "glc_", "[A-Za-z0-9+/=_]", 32, f"glc_eyJ{mix(80)}"),
    _token("grafana-token", "Grafana", "glsa_", _W, 24, f"glsa_{mix(32)}_{hexa(8)}"),
    _token("sentry-token", "Sentry", "sntry[sui]_", "[A-Za-z0-9+/=_.]", 30, f"sntrys_eyJ{mix(120)}"),
    _token("datadog-app-key", "Datadog", "dd(?:app|api|pat)_", _A, 24, f"ddapp_{mix(34)}"),
    _token("honeycomb-key", "Honeycomb", "hc[abx][ilm]k_", "[a-z0-9]", 30, f"hcaik_01{hexa(56)}"),
    _token("dynatrace-token", "Dynatrace", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,}\.", _U, 40, f"dt0c01.{upper(24)}.{upper(56)}{upper(8)}"),
    _token("posthog-key", "PostHog personal key", "phx_", _D, 30, f"phx_{mix(43)}"),
    _token("sonarqube-token", "SonarQube", "sq[upa]_", _H, 32, f"squ_{hexa(40)}"),
    _token("circleci-token", "CircleCI", "CCI(?:PAT|PRJ)_", _W, 24, f"CCIPAT_{mix(22)}_{hexa(40)}"),
    _token("buildkite-token", "Buildkite", "bk(?:ua|ct|aj)_", _A, 30, f"bkua_{hexa(40)}"),
    _shape("launchdarkly-key", "LaunchDarkly", _after(f"(?:sdk|api|mob)-{_UUID}"), "", f"sdk-{uuid()}"),
    _token("prefect-key", "Prefect", "pn[ub]_", _A, 30, f"pnu_{mix(36)}"),
    _token("dbt-token", "dbt Cloud", "dbt[cu]_", _D, 30, f"dbtc_{mix(40)}"),
    _shape("harness-token", "Harness", r"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.", "[A-Za-z0-9]{20}", f"pat.{mix(22)}.{hexa(24)}.{mix(20)}"),
    # Data
    _token("databricks-token", "Databricks", "d(?:api|ose|kea)", _H, 32, f"dapi{hexa(32)}"),
    _token("supabase-token", "Supabase", "sb(?:p_|_secret_)", _W, 24, f"sbp_{hexa(40)}"),
    _token("planetscale-token", "PlanetScale", "pscale_(?:tkn|oauth|pw)_", "[A-Za-z0-9_=.-]", 30, f"pscale_tkn_{mix(43)}"),
    _token("neon-key", "Neon", "napi_", _A, 40, f"napi_{mix(64)}"),
    _token("mongodb-atlas-secret", "MongoDB Atlas service account", "mdb_sa_sk_", _D, 30, f"mdb_sa_sk_{mix(40)}"),
    _token("confluent-secret", "Confluent Cloud", "cflt", "[A-Za-z0-9+/]", 40, f"cflt{mix(60)}"),
    # Shapes without a prefix
    _shape("jwt", "JSON web token", r"e(?:yJ|yA|wo|w0)[A-Za-z0-9_-]{14,}\.", r"[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,3}",
           f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{mix(40)}.{mix(43)}", "eyJ prefix only", check=jwt_header, parts=jwt_lines),
    # The usual dozen of letters would see every hash.
    replace(_shape("bitcoin-wif", "Bitcoin private key", _after(f"[5KL]{BASE58}{{50}}"), f"{BASE58}?",
                   "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", check=base58check), wide=f"[5KL]{BASE58}{{50}}"),
    _token("bip32-key", "extended private key", "[tuvxyzUVYZ]prv", _A, 100, f"xprv{mix(107)}"),
)  # fmt: skip
