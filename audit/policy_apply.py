"""`audit policy apply`: a text comes into force for a sandbox, and the trail will say so."""

import os
import pwd
import sqlite3
from pathlib import Path
from typing import Final

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit.policy_files import read_policy
from audit_events.errors import Exit, StorageError, UsageError
from audit_events.layout import CONTROL_DDL
from audit_events.schema import MAX_NAME_BYTES
from collector.policy_store import Application, newest, put_in_force
from collector.sqlite import control_connection
from collector.store import open_or_create, reason_of
from query.times import display_zone, stamp

_SHOWN_DIGITS: Final = 6


def apply(call: Call, file: str, sandbox: str) -> Exit:
    """Record the policy and say from when it is in force; twice the same changes nothing."""
    if not sandbox or len(sandbox.encode(errors="replace")) > MAX_NAME_BYTES:
        raise UsageError("--sandbox: a name of 1 to 512 bytes")
    policy = read_policy(call, file)
    place = "stdin" if file == "-" else str(Path(file).expanduser().absolute())
    new = Application(sandbox, policy, place, _who(call), call.now())
    store = wiring.existing_store(call) or open_or_create(wiring.own_place(call)).paths
    connection = control_connection(store.control, CONTROL_DDL)
    try:
        changed = put_in_force(connection, new)
        _, since = newest(connection, sandbox) or ("", call.now())
    except sqlite3.Error as error:
        raise StorageError(f"{store.control}: {reason_of(error)}") from error
    finally:
        connection.close()
    what = f"{policy.name} (sha256:{policy.digest[:_SHOWN_DIGITS]}…)"
    when = stamp(since, display_zone())
    voice = output.screen(call).voice
    if changed:
        voice.line(f"applied {what} to {sandbox} from {when}; events before keep the old text")
    else:
        voice.line(f"{what} is in force for {sandbox} since {when}; nothing changed")
    return Exit.DONE


def _who(call: Call) -> str:
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    sudo = call.environ.get("SUDO_USER")
    return f"{name} (sudo by {sudo})" if sudo else name
