"""The pieces that rules about surroundings are made of: names, separators, values."""

import re
from typing import Final

# Between a name and its value; ends at the sign itself so that stage 1 stops at the first proof.
SIGN: Final = (
    r"(?:\\{0,3}[\"'`])?(?:\x1b\[[0-9;]{0,9}m)?\]?[ \t]{0,40}"
    r"(?:(?::|\|\||\?\??)?=>?|:|->[ \t]|<-[ ]|%3[AaDd]|%253[AaDd]|\\u003[ADad]|\\x3[ADad])"
)
_COLOUR: Final = r"(?:\x1b\[[0-9;]{0,9}m)*"
# `%26lang%3Den`: what follows a value in a URL that is a parameter itself.
NEXT_PARAMETER: Final = r"(?:25)?26[A-Za-z_.-]{1,40}(?:=|%(?:25)?3D)"
# Where a bare value ends: at what shells, queries, connection strings and JSON end it with.
_BARE: Final = (
    r"(?:(?!/[gI]?[\"'])[^\s\"'`&;,<>\\)\x00\x1b%]|\\(?![\"'nrtu`0])"
    rf"|%(?!{NEXT_PARAMETER})"
    r"|[,)](?![\s,;)\]}\"']|$|[\w.-]+[=:]))"
)
# Four groups of four letters, as mail services make them for programs.
APP_PASSWORD: Final = r"[a-z]{4}(?:[ ][a-z]{4}){3}(?=[ \t]*(?:$|[\r\n\f\"';,\\}&|]|--))"
# A word that says how to read the value, and is none.
SCHEME: Final = r"(?:[Bb][Ee][Aa][Rr][Ee][Rr]|[Bb][Aa][Ss][Ii][Cc]|[Tt]oken)"
# Letters that programs and SQL put before a quote: b'…', N'…', @"…".
_QUOTE_PREFIX: Final = r"(?:[bBrRuUfFnN@$]{1,2}(?=\\{0,3}[\"']))?"
# What languages and their debug output wrap a string in: Some("…"), aws.String("…"), string(40) "…".
_WRAPPER: Final = (
    r"(?:\[\](?:string|byte)[{(](?=\\{0,3}[\"'])|(?:\s{1,16}(?=string\())?string\([0-9]{1,5}\)[ ]|&?(?:(?:Some|Just|Ok|Optional|Secret(?:Str|String|Box)?|Sensitive"
    r"|Zeroizing|Password|(?:[a-z]{2,8}\.)?(?:String|Str|Ptr|StringPtr)|StringValue|pulumi\.ToSecret|bytes|toCharArray)\(){1,2}(?=\\{0,3}[\"'])|(?:&(?:'static[ ])?)?[A-Za-z][A-Za-z0-9_.<>?!\[\]]{0,30}(?:[ ]\|[ ][A-Za-z]{1,12}){0,2}[ ]?=[ ]?(?:Some\()?(?=\\{0,3}[\"']))?"
)
# `password.py:291:5`: a place in a file, which ends the search for a value behind that name.
_NO_PLACE: Final = (
    r"(?!(?:(?<=\.[chm]:)|(?<=\.(?:py|go|rs|ts|js|cs|rb|ex|hs|kt|sh|tf|md|cc|mm|vb|pl|ml):)"
    r"|(?<=\.(?:tsx|jsx|mjs|cjs|cpp|hpp|php|exs|erl|yml|css|xml|sql|txt|ini|vue|lua|kts|bzl|nix|cfg):)"
    r"|(?<=\.(?:java|yaml|json|toml|scss|html|dart|conf|less):)|(?<=\.(?:swift|scala|proto):))"
    r"(?:[0-9]{1,6}(?:[:,\s)\"'\f-]|$)|\[[0-9]+,[0-9]+\]))"
)
# `A= B=x`: nothing was given to A, and B is looked at by itself.
_NO_NAME: Final = r"(?!(?<==)[ ][A-Z][A-Z0-9_]{1,60}=[^=\s])"
# A block of YAML begins on the line after its sign.
_BLOCK: Final = r"(?:!(?:!str|!binary|unsafe)[ \t]{1,8})?(?:[|>][+-]?[ \t]{0,4}\r?\n[ \t]{1,16})?"
# A blank in front, then to the closing quote, to the end of the argument, or to the end of the word.
# Quoting of quotes is honoured, and a value that is cut off counts to the end of its line.
VALUE: Final = (
    rf"{_NO_PLACE}{_NO_NAME}(?:(?<=\.{{4}})\.{{0,80}})?[ \t]{{0,40}}{_COLOUR}{_BLOCK}{_WRAPPER}{_QUOTE_PREFIX}"
    r"(?:(?P<whole>\f)|(?P<quote>\\{0,3}[\"'`]|%22))?"
    rf"(?:{SCHEME}(?:[ \t]|%20|\+){{1,4}}|base64:)?"
    r"(?P<secret>(?(whole)[^\f]{1,16384}"
    r"|(?(quote)(?:(?!(?P=quote))\\.|(?!(?P=quote))[^\n\f\\]){1,16384}"
    rf"|(?:{APP_PASSWORD}|(?!\.[*+]){_BARE}{{1,16384}}))))"
)
# One argument: the next element of an argv, a quoted word, a word.
ARGUMENT: Final = (
    r"(?:(?P<whole>\f)|[ \t]+(?P<quote>\\{0,3}[\"'])?)"
    r"(?P<secret>(?(whole)[^\f]{1,16384}"
    r"|(?(quote)(?:(?!(?P=quote))\\.|(?!(?P=quote))[^\n\f\\]){1,16384}"
    r"|[^\s\"'`]{1,16384})))"
)
# Other pairs of the same object, between a name and its value.
PAIRS: Final = (
    r"(?:(?:\\{0,3}[\"'])?(?!val)[A-Za-z_]{1,24}(?:\\{0,3}[\"']?\s?[:=]\s?|=\f)[^\n\f,{}]{1,60}"
    r"(?:,|\f|(?=\n))\s{0,24}){0,4}"
)
# What follows a flag and one blank (which may be the border of two arguments).
FLAG_VALUE: Final = (
    r"(?P<whole>(?<=\f)(?:=\f)?|[ \t]*=?[ \t]*\f(?:=\f)?)?(?:=[ \t]*)?[ \t]*(?P<quote>\\{0,3}[\"'])?(?!--?[A-Za-z])"
    r"(?P<secret>(?(whole)[^\f]{1,16384}"
    r"|(?(quote)(?:(?!(?P=quote))\\.|(?!(?P=quote))[^\n\f\\]){1,16384}"
    rf"|(?:{APP_PASSWORD}"
    r"|[^\s\"'`]{1,16384}))))"
)
# The same without a blank, for `-pX`.
ATTACHED: Final = (
    r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n\f]){1,16384}"
    r"|[^\s\"'`]{1,16384}))"
)
# The rest of a name after its keyword.
TAIL: Final = r"[A-Za-z0-9_.-]{0,24}"

PASSWORD_WORDS: Final = (
    r"(?:pass(?:[_-]?w(?:or)?d|[_-]?phrase|[_-]?code|wort)|passwd|contrase(?:n|\x7f\x7f?)a|mot[ _-]?de[ _-]?passe"
    r"|kennwort|senha|pwd|userpw|dbpw|rootpw|bindpw|vncpw|pre[-_]?shared[-_]?key|wpa[-_]?psk)"
)
TOKEN_WORDS: Final = (
    r"(?:token|secret|api[-_. ]?key|access[-_.]?key|account[-_.]?key|private[-_.]?key|auth[-_.]?key"
    r"|encryption[-_.]?key|encrypt[-_.]?key|signing[-_.]?key|sign[-_.]?key|master[-_.]?key"
    r"|shared[-_.]?key|subscription[-_.]?key|admin[-_.]?key|deploy[-_.]?key|service[-_.]?key"
    r"|session[-_.]?key|app[-_.]?key|application[-_.]?key|integration[-_.]?key|license[-_.]?key"
    r"|storage[-_.]?key|host[-_.]?key|function[-_.]?key|ssh[-_.]?key|hmac[-_.]?key|jwt[-_.]?key"
    r"|credentials?|webhook[-_.]?key|secret[-_.]?id|mnemonic|seed[-_. ]?phrase"
    r"|(?:client[-_.]?)?key[-_.]?data|sonar[._-]login|fernet[-_.]?key|cookie[-_.]?key"
    r"|wrapping[-_.]?key|unseal[-_. ]?key|erlang[-_.]?cookie|recovery[-_. ]?(?:key|code)|device[-_.]?code"
    r"|code[-_.]?verifier|client[-_.]?assertion|sas[-_.]?key|root[-_.]?key|write[-_.]?key"
    r"|refresh|connect[.]sid|session[-_.]?id|sess[-_.]?id|sessionid|phpsessid|jsessionid)"
)

# Any name at all, words of `PASSWORD_WORDS` among them: for patterns that stage 1 takes wider.
ANY_NAME: Final = r"[A-Za-z0-9_. \x7f-]{0,120}"

# Services whose keys have no shape of their own.
SERVICES: Final = (
    r"(?:abuseipdb|adafruit|adobe|airtable|algolia|aliyun|alibaba|amplitude|apollo|asana"
    r"|assemblyai|auth0|beamer|bitly|bitrise|bittrex|box|browserstack|checkout|circleci"
    r"|cisco|meraki|civo|clickup|cloudflare|cloudinary|codecov|cohere|coinbase"
    r"|configcat|confluent|contentful|capella|couchbase|coveralls|databento|datadog"
    r"|deepgram|discord|disqus|drone|dropbox|ebay|endor|endorlabs|etsy|facebook|fal"
    r"|fastly|figma|finicity|finnhub|flickr|freshbooks|fullstory|gitea|gitter"
    r"|gocardless|greptile|gumroad|heroku|honeycomb|hubspot|hunter|ibm|influx"
    r"|infomaniak|instantly|intercom|jumpcloud|kagi|kimi|klaviyo|kraken|kucoin|lark"
    r"|launchdarkly|linear|linkedin|lob|looker|mailgun|mapbox|mattermost|mem0"
    r"|messagebird|midtrans|miro|mistral|mux|netlify|newrelic|ngrok|nytimes|okta|ollama"
    r"|openweather|opsgenie|ovh|pagerduty|paypal|pinecone|plaid|plivo|polymarket"
    r"|postmark|privateai|rapidapi|razorpay|retell|scaleway|sendbird|sentry|sidekiq"
    r"|snowflake|snyk|sonar|squarespace|sslmate|sumologic|tableau|telegram|telnyx"
    r"|travis|travisci|twitch|twitter|upstage|upstash|vercel|virustotal|vultr|wakatime"
    r"|weatherstack|wandb|wiz|woocommerce|yandex|zai|zendesk|zoho)"
)

# Lines end with a newline or, inside of a quoted text, with the two characters that mean one.
LINE_END: Final = re.compile(r"\r?\n|(?<!\\)\\{1,2}n")
# The letters of keys and addresses of coins: none that looks like another.
BASE58: Final = "[1-9A-HJ-NP-Za-km-z]"

# Few of them and plain, so that both stages are through with them at once.
NAMING_WORDS: Final = r"passw(?:or)?d|passphrase|passcode|passwort|kennwort|contrase(?:n|\x7f)a|senha|pwd|secret|token|credential"
