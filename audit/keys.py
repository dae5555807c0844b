"""The key files of a store's fingerprints: private, never inside the store, never forgotten.

`<id>.key` is in force. A rotation keeps the key before it as `<id>.key.1`, the next as `.key.2`:
events masked under an old key can only be found with it.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
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
    with _as_storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=_DIRECTORY_MODE)
        _create(path)
        return _load(path)


def every_key(config_dir: Path, store_id: str) -> tuple[FingerprintKey, ...]:
    """All keys that this store ever had, the one in force first; makes the first one.

    Raises StorageError as `load_or_create`.
    """
    current = load_or_create(config_dir, store_id)
    path = key_path(config_dir, store_id)
    with _as_storage_errors(path):
        older = [_load(old) for _, old in reversed(_old_keys(path))]
    return tuple(dict.fromkeys((current, *older)))


def first_key(config_dir: Path, store_id: str) -> FingerprintKey:
    """The key that the store began with, which never changes: file sources know files by it."""
    return every_key(config_dir, store_id)[-1]


def rotate(config_dir: Path, store_id: str) -> FingerprintKey:
    """A new key in force; the old one stays beside it. Killed anywhere, either key is in force.

    Raises StorageError as `load_or_create`.
    """
    load_or_create(config_dir, store_id)
    path = key_path(config_dir, store_id)
    with _as_storage_errors(path):
        _keep(path)
        fresh = _written(path)
        fresh.replace(path)
        _sync_folder(path.parent)
        return _load(path)


def _keep(path: Path) -> None:
    """Give the key in force its second name, unless a rotation that was killed did so already."""
    old = _old_keys(path)
    if any(known.samefile(path) for _, known in old):
        return
    number = old[-1][0] + 1 if old else 1
    os.link(path, path.with_name(f"{path.name}.{number}"))
    _sync_folder(path.parent)


def _old_keys(path: Path) -> list[tuple[int, Path]]:
    """Keys that were in force before, by number."""
    names = re.compile(re.escape(path.name) + r"\.([1-9][0-9]{0,5})")
    found = [
        (int(match[1]), entry)
        for entry in path.parent.iterdir()
        if (match := names.fullmatch(entry.name))
    ]
    return sorted(found)


@contextmanager
def _as_storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot use the fingerprint key {path}: {error.strerror}",
            hint="the key must be readable and writable by this user only",
        ) from error


def _create(path: Path) -> None:
    """Write a new key under a temporary name, then link it: the name never shows half a key."""
    if path.exists():
        return
    fresh = _written(path)
    try:
        os.link(fresh, path)
    except FileExistsError:
        return
    finally:
        fresh.unlink()


def _written(path: Path) -> Path:
    """A new key under a temporary name beside `path`, synced."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
