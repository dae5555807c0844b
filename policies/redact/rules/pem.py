"""Private keys in armour, whole or half, wherever the text is cut; and as a list of bytes."""

import base64
import re
from typing import Final

from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.checks_format import body_before, is_key_body, prefixed_body, whole_blob
from policies.redact.rules.samples import mix

# A line of the body, with what escaping or quoting puts between lines.
_BREAK = r"(?:\s|\\{1,4}[nrt]|\\\s|[\"',+>|\x7f]|<br>|\^M\$?|[$^](?=\r?\n))"
_HEADERS = rf"(?:{_BREAK}{{0,12}}[A-Za-z-]{{3,24}}:[ ]?(?:(?!-----)[^\n\\]){{0,128}}){{0,6}}"
_LINE = r"[A-Za-z0-9+/=.]"
_BODY = rf"(?P<secret>(?:{_LINE}{{1,128}}{_BREAK}{{0,12}}){{1,512}})"
_KIND = r"(?:(?:[A-Z0-9]{1,12}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?|OpenVPN[ ]Static[ ]key[ ]V1)"

_FAKE: Final = "MIIEpAIBAAKCAQEAvXLjvsJUsV2sskAYgXp07QROG"
_PUBLIC: Final = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvXLj"

# The first words of a key in armour, in base64 at its three alignments.
_ARMOUR: Final = r"(?:UFJJVkFURSBLRVkt|QUklWQVRFIEtFWS|BSSVZBVEUgS0VZLS)"

_CODED: Final = base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\n" + mix(120).encode()).decode()

# An ed25519 key has 32 bytes, with its public half 64.
_KEY_SIZES: Final = (32, 64)
_CUT_OFF: Final = re.compile(r"[ ,.\x06\x7f]*(?:\Z|[\"'\\\f\n])")
_SOME_BYTES: Final = ", ".join(str(number * 37 % 251) for number in range(64))


def _is_key_list(match: re.Match[str]) -> bool:
    """As many bytes as a key has, or cut off by the end of a field; mixed as chance mixes them."""
    numbers = [int(number) for number in re.findall("[0-9]+", match[SECRET])]
    if match["end"]:
        whole = len(numbers) in _KEY_SIZES
    else:
        whole = _CUT_OFF.match(match.string, match.end()) is not None
    if not whole or max(numbers) > 255 or numbers == sorted(numbers):
        return False
    return len(set(numbers)) * 3 >= 2 * min(len(numbers), *_KEY_SIZES)


RULES: Final[tuple[Rule, ...]] = (
    Rule("pem-begin", "private-key", "a private key from its first line on",
         rf"-{{4,5}}[ ]?BEGIN[ ]{_KIND}-{{4,5}}", rf"{_HEADERS}{_BREAK}{{0,12}}{_BODY}", check=is_key_body, rank=SHAPE,
         hits=(f"-----BEGIN RSA PRIVATE KEY-----\n{_FAKE}\n", f'"-----BEGIN PRIVATE KEY-----\\n{_FAKE}\\n"'),
         misses=(f"-----BEGIN PUBLIC KEY-----\n{_PUBLIC}\n", f"-----BEGIN CERTIFICATE-----\n{_PUBLIC}\n")),
    Rule("pem-der", "private-key", "the body of a private key by its first bytes",
         r"(?:MII[A-Z][a-z]?[A-Za-z0-9+/]{1,3}IBAAKCA|MII[A-Z][A-Za-z0-9+/]{2,5}IBADANBgkqhkiG9w0BAQEFAASC|MI[GH][A-Za-z0-9+/]{1,3}AgEAMBMGByqGSM49AgEG|MII[A-Za-z0-9+/]{2,4}IBAzC[A-C]|MC4CAQAwBQYDK2Vw|b3BlbnNzaC1rZXktdjE|MHcCAQEEI|MHQCAQEE)", rf"(?:{_LINE}{{1,128}}{_BREAK}{{0,12}}){{0,512}}", rank=SHAPE,
         hits=(f"key {_FAKE}",)),
    Rule("putty-key", "private-key", "a PuTTY private key", r"Private-Lines:[ ]?[0-9]{1,3}", rf"\s+(?P<secret>(?:{_LINE}{{1,128}}\s{{0,4}}){{1,64}})", rank=SHAPE,
         hits=(f"Private-Lines: 8\n{_FAKE}",)),
    Rule("pem-end", "private-key", "a private key up to its last line",
         rf"-{{4,5}}END[ ]{_KIND}-{{4,5}}", "", parts=body_before, rank=SHAPE, hits=(f"{_FAKE}\n-----END RSA PRIVATE KEY-----",)),
    Rule("armour-in-base64", "private-key", "base64 of a private key in armour",
         rf"{_ARMOUR}", r"[A-Za-z0-9+/-]{0,16384}={0,2}", parts=whole_blob, rank=SHAPE,
         hits=(f"client-key-data: {_CODED}",), misses=("UFJJVkFUR",)),
    Rule("key-list", "private-key", "a private key as a list of its bytes",
         r"(?:keypair|wallet|solana|keygen|[^a-z]id\.json|(?:secret|private|signing)[_ -]?key|seed)[^\[\n]{0,80}(?:\n|\\{1,2}n)?[^\[\n]{0,40}\[\s{0,4}(?P<secret>[0-9]{1,3}\s{0,4},", r"(?:\s{0,4}[0-9]{1,3}\s{0,4},){10,62}(?:\s{0,4}[0-9]{1,3})?)(?P<end>\s{0,4}\])?", check=_is_key_list, caseless=True, rank=GUESS,
         hits=(f"cat ~/.config/solana/id.json\n[{_SOME_BYTES}]", f"wallet: [{_SOME_BYTES}]"), misses=(f"seed: [{', '.join('1' for _ in range(64))}]", "seed = [1, 2, 3]", f"wallet signature\nx\ny [{_SOME_BYTES}]")),
    Rule("pem-prefixed", "private-key", "a private key of which each line has a log's prefix",
         r"-{5}BEGIN[ ](?:[A-Z0-9]{1,12}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-{5}", "", parts=prefixed_body, rank=SHAPE,
         hits=(f"k[1]: -----BEGIN PRIVATE KEY-----\nk[1]: {mix(64)}\nk[1]: {mix(40)}\nk[1]: -----END PRIVATE KEY-----",)),
)  # fmt: skip
