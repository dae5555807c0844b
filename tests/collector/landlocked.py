"""A program that confines itself with Landlock and is then refused a file; run as a script.

argv: the file. Exit: 0 when it was refused, 3 when this kernel has no Landlock that is audited.
"""

import ctypes
import errno
import os
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446
# Audit of denials came with the seventh version.
AUDITED_SINCE = 7
READ_FILE = 1 << 2
# A child process of the one that confines itself is a new program: log it too.
LOG_NEW_EXEC = 1 << 1


def main() -> int:
    """Refuse ourselves to read any file."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(CREATE_RULESET, None, 0, 1) < AUDITED_SINCE:
        return 3
    handled = ctypes.c_uint64(READ_FILE)
    rules = libc.syscall(CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    libc.prctl(38, 1, 0, 0, 0)
    if rules < 0 or libc.syscall(RESTRICT_SELF, rules, LOG_NEW_EXEC) != 0:
        return 3
    try:
        os.open(sys.argv[1], os.O_RDONLY)
    except OSError as error:
        return 0 if error.errno == errno.EACCES else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
