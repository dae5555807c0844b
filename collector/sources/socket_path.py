"""A listening unix socket at a path that nobody else can take, and who is at its other end."""

import contextlib
import os
import socket
import stat
import struct
import sys
from pathlib import Path
from typing import Final

from audit_events.errors import SourceError

FOLDER_MODE: Final = 0o700
SOCKET_MODE: Final = 0o600
# With writers of other users the system still lets them reach the socket; their uid decides.
SHARED_FOLDER_MODE: Final = 0o711
SHARED_SOCKET_MODE: Final = 0o666
# For one group, nobody else: the system keeps all others out before a uid is even asked for.
GROUP_FOLDER_MODE: Final = 0o750
GROUP_SOCKET_MODE: Final = 0o660
# sun_path less its NUL: 108 bytes on Linux, 104 on macOS and BSD.
MAX_PATH_BYTES: Final = 107 if sys.platform.startswith("linux") else 103
BACKLOG: Final = 512
# From <sys/un.h> of macOS; Python does not name them.
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_XUCRED_BYTES: Final = 76


def listen(path: Path, *, shared: bool, group: int | None = None) -> socket.socket:
    """A non-blocking listening socket; a stale file is taken over.

    It is private, or `shared` with everybody, or open to the group of this id.

    Raises SourceError: path too long, folder open to others, name taken.
    """
    length = len(os.fsencode(path))
    if length > MAX_PATH_BYTES:
        raise SourceError(
            f"{path}: {length} bytes; the path of a socket may have {MAX_PATH_BYTES}",
            hint="choose a shorter path, for example under the runtime folder of the user",
        )
    try:
        if group is not None:
            modes = GROUP_FOLDER_MODE, GROUP_SOCKET_MODE
        else:
            modes = (
                (SHARED_FOLDER_MODE, SHARED_SOCKET_MODE) if shared else (FOLDER_MODE, SOCKET_MODE)
            )
        _prepare_folder(path.parent, modes[0], group)
        _remove_stale(path)
        return _bound(path, modes[1], group)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error


def close(listener: socket.socket, path: Path) -> None:
    """Stop listening; the name goes too, if it is still this socket's."""
    # The socket's own inode says nothing about the name; what a connection meets does.
    listener.close()
    with contextlib.suppress(OSError, SourceError):
        _remove_stale(path)


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end as the kernel tells; OSError if it does not."""
    return peer_ids(connection)[0]


def peer_ids(connection: socket.socket) -> tuple[int, int]:
    """User and group at the other end as the kernel tells; OSError if it does not."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, gid = struct.unpack("3I", raw)
        return uid, gid
    raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    _, uid, _, gid = struct.unpack_from("IIhxxI", raw)
    return uid, gid


def _prepare_folder(folder: Path, mode: int, group: int | None) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True)
        if group is not None:
            os.chown(folder, -1, group)
        folder.chmod(mode)
    except FileExistsError:
        found = folder.stat().st_mode
        if found & (stat.S_IWGRP | stat.S_IWOTH) and not found & stat.S_ISVTX:
            raise SourceError(
                f"{folder}: others can write this folder, so they could replace the socket",
                hint=f"chmod go-w {folder}",
            ) from None


def _remove_stale(path: Path) -> None:
    """Unlink a socket that nobody listens on; SourceError if the name is anything else's."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SourceError(f"{path} exists and is no socket", hint="choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except BlockingIOError:
            pass
    raise SourceError(f"{path}: another process listens here", hint="one collector a socket")


def _bound(path: Path, mode: int, group: int | None) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        if group is not None:
            os.chown(path, -1, group)
        path.chmod(mode)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
