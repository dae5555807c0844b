"""Hashed passwords, which can be tried out offline."""

from typing import Final

from policies.redact.rule import SHAPE, Rule
from policies.redact.rules.samples import mix

RULES: Final[tuple[Rule, ...]] = (
    Rule("password-hash", "password-hash", "a hashed password, which can be tried out offline",
         r"\$(?:apr1|[1567y]|2[abxy]|gy|sha1|md5|argon2(?:id|i|d))\$", r"[./A-Za-z0-9$=,+-]{20,400}", rank=SHAPE, fingerprint=False,
         hits=(f"root:$6${mix(16)}${mix(86)}:19000:0:99999:7:::", f"bob:$apr1${mix(8)}${mix(22)}", f"password_hash=$2b$12${mix(53)}"), misses=("cut -f $1$2",)),
    Rule("django-hash", "password-hash", "a hashed password of a web framework",
         r"(?:pbkdf2_sha(?:1|256|512)|pbkdf2:sha(?:1|256|512)(?::[0-9]{1,8})?|scrypt(?::[0-9]{1,8}){0,3}|bcrypt_sha256)\$", r"[./A-Za-z0-9$=,+-]{20,400}", rank=SHAPE, fingerprint=False,
         hits=(f"pbkdf2_sha256$600000${mix(22)}${mix(43)}",), misses=("pbkdf2_sha256$600000",)),
    Rule("ldap-hash", "password-hash", "a hashed password of a directory",
         r"\{(?:S?SHA(?:256|384|512)?|SMD5|MD5|CRYPT|PBKDF2[A-Z0-9-]{0,10})\}", r"[./A-Za-z0-9$=+]{16,400}", rank=SHAPE, fingerprint=False,
         hits=(f"userPassword: {{SSHA}}{mix(32)}",), misses=("{MD5}",)),
)  # fmt: skip
