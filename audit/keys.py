"""The key file of a store's fingerprints: made once, private, never inside the store."""

import os
import re
import secrets
from pathlib import Path
from typing import Final

from audit_events.errors import StorageError
from policies.redact.fingerprint import KEY_BYTES, FingerprintKey

_FILE_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
_STORE_ID: Final = re.compile(r"[0-9a-z]{1,32}")


def key_path(config_dir: Path, store_id: str) -> Path:
    """Where the key of a store lies; raises StorageError if the id is none."""
    if not _STORE_ID.fullmatch(store_id):
        raise StorageError("the store's id is damaged", hint="see store.toml")
    return config_dir / "keys" / f"{store_id}.key"


def load_or_create(config_dir: Path, store_id: str) -> FingerprintKey:
    """The store's key; the first call makes it (0600, in a 0700 folder) and later ones read it.

    Raises StorageError when the file cannot be read or made, is open to others or is damaged: a
    new key would silently part old fingerprints from new ones.
    """
    path = key_path(config_dir, store_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=_DIRECTORY_MODE)
        _create(path)
        return _load(path)
    except OSError as error:
        raise StorageError(
            f"cannot use the fingerprint key {path}: {error.strerror}",
            hint="the key must be readable and writable by this user only",
        ) from error


def _create(path: Path) -> None:
    """Write a new key under a temporary name, then link it: the name never shows half a key."""
    if path.exists():
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            return
    finally:
        fresh.unlink()


def _load(path: Path) -> FingerprintKey:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read(KEY_BYTES + 1)
    if mode & 0o077:
        raise StorageError(
            f"the fingerprint key {path} is open to others (mode {mode & 0o777:o})",
            hint=f"chmod 600 {path}",
        )
    if len(data) != KEY_BYTES:
        raise StorageError(
            f"the fingerprint key {path} is damaged: not {KEY_BYTES} bytes",
            hint="restore it from a backup; a new key would part old fingerprints from new ones",
        )
    return FingerprintKey(data)
