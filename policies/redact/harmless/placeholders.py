"""Stand-ins: placeholders, references, paths, labels, ciphertext, what everybody may know."""

import re
from typing import Final

from policies.redact.generated import shuffled
from policies.redact.harmless.notations import notation

_PLACEHOLDER: Final = re.compile(
    r"""(?ix)
      \$(?!__(?-i:(?=\w*[a-z])(?=\w*[A-Z])\w*[0-9]))[A-Za-z_]\w*(?:[/:}"'\[\]),].*)?
    | \$[{(].* | \$[0-9@*\#?]? | %[A-Z_]+% | \{\{.*
    | \?[a-z]+(?:\ .*)? | true\].* | %x[({\[].* | %[({<][=\w .:-]+[)}>%]*[sdr]?
    | \{(?!(?-i:(?=\w*[a-z])(?=\w*[A-Z])(?=\w*[0-9]))\w{16})[\w.\s]*\}?
    | <.* | \[[\w\s.-]*\]? | \[redacted.*
    | \((?!\((?-i:(?=\w*[a-z])(?=\w*[A-Z])\w*[0-9]))[^)]*\)?
    | \[(?:parameters|variables|reference|concat|list\w+|resourceid)\(.*
    | [*x.•\x06\x7f_-]{3,}
    | \+{3,} | \w{3,5}\+omitted | \*+ | x{8,}.* | null | nil | none | true | false | undefined
    | void
    | empty | unset | your[-_ ].* | my[-_](?:password|token|secret|api[-_]?key) | .*[-_]here
    | [\w.-]*(?:change|replace|fill)[-_\ ]?(?:me|this|in)(?:[-_\ ][a-z-]+)*
    | example(?:[-_.]\w+)* | changeit | todo | tbd | redacted | filtered | masked | hidden | removed
    | secret | password | passwd | token | api_token | env:.* | file:.* | fd:\d+ | stdin | op://.*
    | vault:.* | ref\+.* | @?keychain:.* | @(?:env|file):.* | \*{1,2}(?:\)(?:["'\s,)\]].*)?|\ -.*)
    | [\w./~$@{}-]*\.keychain(?:-db)? | aws:.* | sm://.* | arn:.* | pass:(?:\$|x{8}).* | env\.\s?.*
    | os\.environ.* | \.[*+?].* | [\w-]{0,12}(?:\.{3}|\x06|\*{3,})[.*\x06\x7f]*[\w-]{0,8}
    # How far a transfer is; an indexed template.
    | [0-9]{1,3}%(?:\|[\x7f\#=>.-]*[0-9]?\|?|\[[=>.]*\]?) | \{[\w.]+(?:\[[\w'"-]*\])+\}?
    # A word of another language, as a form shows it; a password has a digit or begins small.
    | (?-i:(?=[A-Z\x7f])[A-Za-z-]{0,12}\x7f[a-z-]{0,8}) | (?:un)?g\x7fltig
    | m\x7f[nx]im[oa] | inv\x7flid[ao] | obligat\x7fri[oa] | \x7f
    | (?:id|type|src|source|target|env)=[\w./-]+(?:,.*)?
    | x-oauth-basic | process\.env.* | import\.meta.* | secrets\..* | vars\..*
    | (?:re?place|change|fill|insert|put|set|enter|add|paste)
        [-_ ]?(?:me|in|this|it|with|your)(?:[-_ ](?![0-9]+\Z).*)?
    | :?[a-z_]{3,}(?:::[\w<>]+)+
    | placeholder | dummy | n/a | not[-_ ]?set | your(?:password|token|secret|api|access|key).*
    | \[[^\]]{0,80}\][+*?{].* | \\[swd][+*{].* | \(\?.* | [\#~]\{.* | \{%.* | @@?\w+@@? | __\w+__
    | :[a-z_]{0,40}(?:pass|pw|secret|token|key)[a-z_]{0,40}
    | (?:[a-z]+\ ){0,3}secret(?:\ (?:key|token))?\ ?[:?]
    # Where it lies, for the tools that fetch it.
    | (?:ssm|sm|secretsmanager|awssm|gcpsm|gsm|akv|azurekv|kv|kms|awskms|gcpkms|doppler|infisical
        |bw|bws|lpass|keyring|keepass|conjur|chamber|sops|secret|secretref|config|settings|parameter|ssmparam
        ):/?/?[\w{$(].*
    | @microsoft\.keyvault\(.* | @?(?:string|id|attr|resource)/.* | @\+id/.*
    | /[\w.~%-]+(?:/[\w.~%-]*)*\?[\w.-]{1,40}=.*
    | \[\^?\[:\w+:\].* | \\{0,2}\)\(?(?:\[\^|\[\w+-|\.[*+]|\\{1,2}[swd]|\(\?).*
    | /\^.*/[gimsuy]{0,4}[;,)]? | \$\$(?:[A-Za-z_]\w*(?:[/:}"'\[\]),].*)?|[{(].*)
    | [$\\][0-9](?:[<\["'/\\]|\*{2}|x{3}|\.{3}).*
    | (?:true|false|null|none|nil)[)\]},;].*
    | %-?[0-9.]*[sdvqr](?:[\\"',;:@/)}\s].*)? | (?:[x*]|!\*?|!!):[0-9]+:.*
    | [\w.-]{1,64}:(?:/[\w.@-]+){2,}/?(?::(?:/[\w.@-]+)+/?)*
    | projects/[^/\s]+/secrets/.*
    | !(?:vault|ref|sub|getatt|join|importvalue|reference|secret|env|env_var|encrypted)\b.*
    # Ciphertext, which only the owner of a key can read.
    | enc[\[(].* | ej\[.* | \{(?:cipher|enc|aes)\}.* | aqica.{40,} | ciq[a-d].{60,}
    | ag[a-d][a-z0-9+/]{97,}.*
    | vault:v[0-9]+:.* | kms:.* | \$ansible_vault.*
    # What everybody may know: digests, moments, handles, public halves.
    | sha256//?[a-z0-9+/]{43}=(?:[;,]sha256//?[a-z0-9+/]{43}=)*
    | (?:auth|subscription|api)key_[a-z0-9]{10}\.p8
    | sha-?(?:1|224|256|384|512)[:=-].* | 0x[0-9a-f]{1,16} | 20\d\d-\d\d-\d\d(?:[t\ ]\d\d:\d\d.*)?
    | rw[q-t][a-z0-9+/]{53}=? | (?:ssh|ecdsa|sk)-[a-z0-9@.-]+\ aaaa.* | aaaa[bce][a-z0-9]nza.*
    | age1[a-z0-9]{58}
    | \{(?:from_?secret|value_?from|secret_?key_?ref|type|format|description|\$ref):(?:\ .*)?
    # Keys that the makers of pages and machines publish.
    | phc_[a-z0-9_-]{40,48} | pk\.eyj1i[a-z0-9_-]{10,400}\.[a-z0-9_-]{20,24}
    | (?:node|disco|m)key:[0-9a-f]{64}
    # Nothing, in YAML; a variable that is to be put there as it stands.
    | !!(?:null|str|bool|int|float|map|seq|set|omap|binary|js/undefined|python/none)
        (?:\ (?:null|~|""|''|\{\}|\[\]))?
    | \\{1,4}\$(?:\{[a-z_]\w*\}|(?-i:[A-Z]+(?:_[A-Z]+)*)|\([a-z]{2,}(?:\ .*)?)
    # What counts and measures tell, and which versions of a package will do.
    | [+-]?[0-9.]+(?::[0-9.]+)*\|(?:c|g|ms|h|s|d|m)(?:\|.*)? | [\w.-]{1,40}\|s(?:\|\#.*)?
    | v?[0-9]{1,3}(?:\.(?:[0-9]{1,4}|x|\*)){1,2}
        (?:[-+](?:alpha|beta|rc|pre|dev|snapshot|next|canary|build|post|k3s|rke|gke|eks|[0-9])[0-9a-z.+-]{0,16})?
    | (?:npm:[@\w/.-]+@|workspace:)?(?:[\^~=]|[<>!~=]=|~>|[<>])\ ?v?[0-9]+(?:\.(?:[0-9]+|x|\*)){0,3}
        (?:[-+](?:alpha|beta|rc|pre|dev|snapshot|next|canary|build|post|[0-9])[0-9.+-]{0,16})?
        (?:(?:\ |,|\ ?\|\|)[\ 0-9.x*^~<>=|,!-]*)?
    | (?:workspace|catalog|link|portal|patch|npm|git\+\w+):[\w@.^~*/:+\#-]*
    # What a program writes in braces, and what an editor puts back with a mask.
    | \{(?:[a-z]+[-_ .])*(?:tokens?|keys?|secret|password|pass|passwd|pwd
        |here|id|name|value|user|credentials?)\}
    | [$\\][0-9](?:redacted|masked|hidden|filtered|removed|censored|omitted)\b.*
    | \\{1,4}z[se][^/]{0,40}/[<\[]?
        (?:[*.\#_-]*|x{3,}|redacted|masked|hidden|filtered|removed)[>\]]?/[a-z&]{0,4}
    # `%{env:USER}:%{env:PW}`, cut at the first colon.
    | [\w./#-]{1,80}\}:[%$\#]\{(?:[a-z]+:)?[\w./#]+\}
    # Which image, which class of a framework, what an object tells about itself.
    | (?:[a-z]+|v?[0-9]+(?:\.[0-9]+)*(?:-[a-z]+[0-9.]*)*)?@sha256:[0-9a-f]{64}
    | (?-i:(?:[a-z_]+\.){2,8}(?:[A-Z][A-Za-z]{0,30}?)?
        (?:Argon2(?:id)?|P[Bb][Kk][Dd][Ff]2|S(?:HA|ha)(?:1|256|384|512)|M[Dd]5){1,3}(?:[A-Z][A-Za-z]{0,40})?)
    | (?:expire[sd]?(?:_at|_in)?|exp|iat|issued_at
        |created_at|updated_at|id|(?:user|client)_id|name|type|token_type|ttl|status
        |active|audience|aud|scopes?|valid|length|version|role|policy|state|count)=
        (?:\d{1,19}|20\d\d-\d\d-\d\d(?:[t\ ][\d:.]+(?:z|[+-]\d\d:?\d\d)?)?
        |true|false|none|null|nil|[a-z]+(?:[-_.][a-z]+)*|[(\[][a-z:_]{0,40}[)\]]?)[>)]?
    # A key that a maker of telephones lets one download once, by the name of its file.
    | (?:[\w.~-]*/)*(?:AuthKey|ApiKey|SubscriptionKey)_[a-z0-9]{10}\.p8
    | miibijanbg.* | mfkwewyh.* | mcowbqyd.* | 0{8}-0{4}-0{4}-0{4}-0{12}
    """
)
# A name in capitals stands for what is to be put there.
_CONSTANT: Final = re.compile(r"<?\[?[A-Z]{2,}(?:[_-][A-Z]{2,}[0-9]?)+\]?>?")
# The pieces of an example address: T00000000/B00000000/XXXXXXXX, XXX/YYY/ZZZ.
_FILLING: Final = re.compile(r"(?:(?:[A-Za-z]?0{3,}|([A-Za-z0*])\1{2,})(?:[/_.:-]|\Z))+")
# A label in some language: it names a password and gives none.
_LABEL: Final = re.compile(
    r"(?i)(?:[a-z\x7f'-]+[ ])*(?:pass(?:word|wort|code|phrase)|kennwort|contrase\x7f{1,2}a|senha"
    r"|wachtwoord|mot de passe|l\x7f{1,2}senord|parola|has\x7f{1,2}o|heslo|salasana"
    r"|adgangskode|passord"
    r"|api[ ]key|token|schl\x7f{1,2}ssel)s?(?:[ ][a-z\x7f'-]+)*[ \x06\x7f]*[.?!:*\x06\x7f]*"
)
_PATH: Final = re.compile(
    r"(?:~|\.{0,2})/(?:[\w.@+~\x7f-]*/)*[\w.@+~ \x7f-]*|[A-Za-z]:\\\S*|\.{1,2}"
)
# What a program puts into a message: %{count}, {{name}}, %1$s.
_COUNTED: Final = re.compile(r"[%#]\{[a-z_]{1,32}\}|\{\{?[a-z_]{1,32}\}?\}|%(?:[0-9]\$)?[sd@]")
# What is left of a quoted string when the quote that we saw was its end.
_LEFTOVER: Final = re.compile(
    r"[)\]},;:](?:\s.*|[)\]},;].*|[?!]?\.[A-Za-z_]\w*[(;.?:!].*|[?!](?:[;,)\s].*)?)?"
)


def path(value: str) -> bool:
    """A path of a file; base64 may begin with a slash and is none."""
    return bool(_PATH.fullmatch(value)) and not shuffled(value.lstrip("~."))


def placeholder(value: str) -> bool:
    """A stand-in, a reference, a path: something that points to a secret at most."""
    bare = value.strip().strip("\"'`")
    if " " in bare:
        bare = _COUNTED.sub("x", bare)
    return (
        not bare
        or bool(_PLACEHOLDER.fullmatch(bare))
        or bool(_CONSTANT.fullmatch(bare))
        or bool(_LEFTOVER.fullmatch(bare))
        or path(bare.rstrip(")]}"))
        or bool(_LABEL.fullmatch(bare))
        or filling(bare)
        or foreign(bare)
        or notation(bare)
        or (bare[0] == "@" and path(bare[1:]))
        or bare.startswith("-----BEGIN")
    )


def filling(value: str) -> bool:
    """One character again and again, as in an example of a token."""
    return len(value) > 3 and bool(_FILLING.fullmatch(value))


def foreign(value: str) -> bool:
    """Words of another script, as the texts of a translated program."""
    return value.count("\x7f") * 2 >= len(value) and not any(c.isdigit() for c in value)
