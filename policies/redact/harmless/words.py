"""Words that tell names and sentences about secrets from secrets."""

from typing import Final

# A name with such a word at its end speaks about a secret, it does not hold one.
ABOUT: Final = frozenset(
    "file filename path dir directory folder name names count counts ttl type types url uri header "
    "headers store backend length len min max limit limits expires expiry expiration expire "
    "endpoint provider manager policy rotation version status fd stdin env hint field format ref "
    "arn enabled disabled required valid validator index size usage prefix suffix suffixes mode "
    "class algorithm alg rules rule group label title prompt prompts id ids uid kind scope scopes "
    "source location service server host hosts port issuer audience at time date age seconds ms "
    "hours days interval timeout refresh refresher autofill chain agent cmd command script bits "
    "input placeholder template view controller row column table map lookup handler callback "
    "middleware factory builder encoder decoder generator counter bucket budget cost per rate "
    "tokens keys passwords secrets cookies schema response request alias serial fingerprint "
    "thumbprint error errors exception warning failure event action component form dialog screen "
    "page menu button field helper util utils test tests spec mock stub fixture example sample "
    "maps filter filters selector selectors regex regexp pattern patterns mismatch help "
    "tooltip caption "
    "home level encryption algo kdf digest cipher strategy hasher hashing "
    "app host domain com org net io dev local re regex regexp pattern patterns "
    "expired invalid missing mismatch changed revoked rejected copied created deleted "
    "kit sdk ui framework hashers validators encoders "
    "reset rotator reminder recovery checker changer plugin wizard worker operator daemon cli "
    "package"
    .split()
)  # fmt: skip

# A name that starts so counts or describes.
NUMBERS: Final = frozenset(
    "max min num n total input output prompt completion next prev page cache cached partition sort "
    "primary foreign public pub bos eos pad unk sep cls mask last first has is no use show get set "
    "require requires need needs missing with without invalid expired forgot forgotten".split()
)

# English that follows "password:" in prose.
PROSE: Final = frozenset(
    "required prompt incorrect invalid expired missing empty not is must should and or for to "
    "the a an protected correct wrong string str bytes int optional any bool object number "
    "default auth "
    "authentication failed failure error ok yes no accepted rejected denied length change changed "
    "changes reset prompted provided given used unused set unset found none null was has have will "
    "can cannot does did of in on at with without from by as if it this that login enter entered "
    "your new old same safe strong weak short long too rotation update updated success successful "
    "text char varchar value values field input type manager store file path settings session "
    "basic bearer digest negotiate ntlm scheme grant flow refresh refreshed refreshing count "
    "enabled disabled active inactive supported unsupported optional configured scanning detected "
    "leaked exposed rotated revoked mindestens maximal zwischen vergessen entre requis oubli "
    "obligatoire obrigatoria obligatoria verplicht minimo wymagane all "
    "unchanged absent present untouched unmodified unspecified unknown pending skipped ignored "
    "inherited verified unverified cleared unavailable available".split()
)

# A key or token with such a word in its name is meant to be seen, or is a place in a list.
SHOWN: Final = frozenset(
    "public pub publishable pubkey site sitekey partition cache sort primary foreign page paging "
    "pagination cursor continuation resume sync idempotency dedup fingerprint thumbprint gpg pgp "
    "dedupe deduplication etag debounce "
    "measurement anon tracking progress ratelimit remaining trusted verify verifying verification "
    "peer".split()
)
# A key that signs or encrypts is hidden even where the name says for what: cache, page, sync.
SIGNING: Final = frozenset("signature signing encryption".split())
FOR_ALL: Final = frozenset(
    "public pub publishable pubkey verify verifying verification trusted peer gpg pgp".split()
)
# Unless it says that it is none of these.
HIDDEN: Final = frozenset(
    "secret password passwd passphrase passcode pass pwd private admin".split()
)
# What a name of a variable for a secret is made of.
NAMED: Final = frozenset(
    "salt key keys token tokens secret secrets password passwords passwd passphrase pass pwd pw "
    "auth credential credentials creds".split()
)
