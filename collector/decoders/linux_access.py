"""Access of Linux records: AppArmor masks, SELinux permissions, Landlock rights, as our verbs."""

from collections.abc import Sequence
from typing import Final

from audit_events.schema import ACCESSES

# A mask may hold several letters; the one that changes most names the access.
_LETTERS: Final = (
    ("x", "exec"), ("c", "create"), ("d", "delete"), ("w", "write"), ("a", "write"), ("l", "link"),
    ("m", "map"), ("r", "read"), ("k", "other"),
)  # fmt: skip
_OPERATIONS: Final[dict[str, str]] = {
    "exec": "exec", "link": "link", "symlink": "link", "rename_src": "rename",
    "rename_dest": "rename",
    "rename": "rename", "mkdir": "create", "mknod": "create", "unlink": "delete", "rmdir": "delete",
    "getattr": "metadata", "chown": "write", "chmod": "write", "truncate": "write",
    "mount": "mount",
    "umount": "mount", "pivotroot": "mount", "file_mmap": "map", "file_mprotect": "map",
    "bind": "bind", "connect": "connect", "listen": "listen", "accept": "accept", "sendmsg": "send",
    "recvmsg": "receive", "create": "create", "ptrace": "other",
}  # fmt: skip
_PERMISSIONS: Final[dict[str, str]] = {
    **{name: name for name in ACCESSES},
    "getattr": "metadata", "setattr": "write", "append": "write", "execute": "exec",
    "execute_no_trans": "exec", "entrypoint": "exec", "execmod": "map", "execmem": "map",
    "unlink": "delete", "rmdir": "delete", "remove_name": "delete", "add_name": "create",
    "name_bind": "bind", "node_bind": "bind", "name_connect": "connect", "connectto": "connect",
    "search": "read", "mounton": "mount", "transition": "exec", "sigkill": "signal",
    "sigchld": "signal", "signull": "signal", "sigstop": "signal", "recv_msg": "receive",
    "send_msg": "send", "recvfrom": "receive", "sendto": "send", "reparent": "rename",
}  # fmt: skip
BLOCKERS: Final[dict[str, str]] = {
    "fs.execute": "exec", "fs.write_file": "write", "fs.read_file": "read", "fs.read_dir": "read",
    "fs.remove_dir": "delete", "fs.remove_file": "delete", "fs.refer": "rename",
    "fs.truncate": "write", "fs.ioctl_dev": "ioctl", "fs.change_topology": "mount",
    **dict.fromkeys(("fs.make_char", "fs.make_dir", "fs.make_reg", "fs.make_sock"), "create"),
    **dict.fromkeys(("fs.make_fifo", "fs.make_block", "fs.make_sym"), "create"),
    "net.bind_tcp": "bind", "net.connect_tcp": "connect", "scope.signal": "signal",
    "scope.abstract_unix_socket": "connect", "ptrace": "other",
}  # fmt: skip


def access_of_mask(operation: str, mask: str) -> str:
    """The verb of an AppArmor record: what the operation says, else the mask."""
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if mask in ACCESSES:
        return mask
    plain = mask.partition(":")[0]
    return next((verb for letter, verb in _LETTERS if letter in plain), "other")


def access_of_permissions(permissions: Sequence[str]) -> str:
    """The verb of the first permission that SELinux names."""
    return next((_PERMISSIONS[name] for name in permissions if name in _PERMISSIONS), "other")
