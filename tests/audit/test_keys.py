"""The fingerprint key file: made once, private, refused when it is not."""

import os
import stat

import pytest

from audit.keys import key_path, load_or_create
from audit_events.errors import StorageError
from policies.redact.fingerprint import KEY_BYTES, FingerprintKey, fingerprint


def test_the_key_is_made_once(tmp_path):
    """The second start reads what the first one wrote."""
    assert load_or_create(tmp_path, "7kq2m") == load_or_create(tmp_path, "7kq2m")


def test_stores_have_different_keys(tmp_path):
    """A fingerprint of one store says nothing about another."""
    assert load_or_create(tmp_path, "7kq2m") != load_or_create(tmp_path, "aaaaa")


def test_only_the_owner_may_read_it(tmp_path):
    """0600 in a 0700 folder, whatever the umask, and nothing is left beside it."""
    old = os.umask(0)
    try:
        load_or_create(tmp_path, "7kq2m")
    finally:
        os.umask(old)
    path = key_path(tmp_path, "7kq2m")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * (KEY_BYTES + 1)])
def test_a_damaged_key_is_never_replaced(tmp_path, content):
    """A new key would part old fingerprints from new ones without a word."""
    load_or_create(tmp_path, "7kq2m")
    key_path(tmp_path, "7kq2m").write_bytes(content)
    with pytest.raises(StorageError, match="damaged"):
        load_or_create(tmp_path, "7kq2m")


def test_a_key_open_to_others_is_refused(tmp_path):
    """The hint says what to do."""
    load_or_create(tmp_path, "7kq2m")
    key_path(tmp_path, "7kq2m").chmod(0o644)
    with pytest.raises(StorageError, match="open to others") as error:
        load_or_create(tmp_path, "7kq2m")
    assert error.value.hint.startswith("chmod 600")


def test_a_link_is_not_followed(tmp_path):
    """Nobody may hand us a key of their choice."""
    load_or_create(tmp_path, "7kq2m")
    path = key_path(tmp_path, "7kq2m")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cannot use"):
        load_or_create(tmp_path, "7kq2m")


def test_an_id_that_is_none_makes_no_path(tmp_path):
    """A store.toml from elsewhere cannot point out of the folder."""
    with pytest.raises(StorageError, match="id"):
        load_or_create(tmp_path, "../x")


def test_a_key_does_not_show_itself():
    """Neither in a traceback nor in a log."""
    assert "k" * 8 not in repr(FingerprintKey(b"k" * KEY_BYTES))


def test_an_encoded_secret_has_the_fingerprint_of_the_plain_one():
    """Percent escapes, folds and invisible characters are no part of a secret."""
    key = FingerprintKey(b"k" * KEY_BYTES)
    forms = ["a+b/c", "a%2Bb%2Fc", "a%252Bb%252Fc", "a+\u200bb/c", "a+b\n/c"]
    assert len({fingerprint(key, "secret", form) for form in forms}) == 1


def test_the_kind_is_part_of_the_fingerprint():
    """Two rules that see one text do not claim it is one secret."""
    key = FingerprintKey(b"k" * KEY_BYTES)
    assert fingerprint(key, "a", "x") != fingerprint(key, "b", "x")
