"""What a Linux audit event decided: AppArmor, SELinux, Landlock, seccomp, fanotify, plain calls."""

import json
import re
import socket
from collections.abc import Sequence
from errno import errorcode
from typing import Any, Final

from collector.decoders import destinations
from collector.decoders.linux_access import BLOCKERS, access_of_mask, access_of_permissions
from collector.decoders.linux_fields import WITH_DECISION, Record
from collector.decoders.linux_syscalls import arch_name, syscall_name
from collector.decoders.row import Row
from collector.decoders.words import access_of_syscall

_APPARMOR: Final[dict[str, str | None]] = {
    "DENIED": "deny", "ALLOWED": "would-deny", "AUDIT": "allow", "KILL": "deny", "KILLED": "deny",
}  # fmt: skip
_SECCOMP: Final[dict[int, tuple[str, str]]] = {
    0x80000000: ("kill_process", "deny"), 0x0: ("kill_thread", "deny"), 0x30000: ("trap", "deny"),
    0x50000: ("errno", "deny"), 0x7FC00000: ("user_notif", "unknown"),
    0x7FF00000: ("trace", "unknown"), 0x7FFC0000: ("log", "allow"), 0x7FFF0000: ("allow", "allow"),
}  # fmt: skip
_FILE_CLASSES: Final = frozenset({
    "file", "dir", "lnk_file", "chr_file", "blk_file", "sock_file", "fifo_file", "filesystem",
})  # fmt: skip
_NETWORK: Final = frozenset({
    "bind", "connect", "listen", "accept", "sendmsg", "recvmsg", "send", "receive", "create",
    "getsockopt", "setsockopt", "getsockname", "getpeername", "shutdown",
})  # fmt: skip
_REFUSED: Final = (1, 13)  # EPERM, EACCES
_PATHS_SHOWN: Final = 16
_ARGUMENTS: Final = 2048


class Event:
    """Records of one serial number, in the order they came."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.call = self.first("SYSCALL") or Record("SYSCALL", "", 0)

    def first(self, *types: str) -> Record | None:
        """The first record of one of the types."""
        return next((record for record in self.records if record.type in types), None)

    def row(self) -> Row | None:
        """The event, None if nobody decided anything."""
        for read in (_apparmor, _selinux, _landlock, _seccomp, _fanotify, _plain_call):
            row = read(self)
            if row is not None:
                return self._finished(row)
        return None

    def _finished(self, row: Row) -> Row:
        """What all frameworks share: who, which call, with which arguments."""
        call, columns = self.call.fields, row.columns
        row.extra["serial"] = self.records[0].serial
        if "comm" in call:
            columns["process"] = call["comm"]
        for name in ("pid", "ppid", "uid"):
            number = _int(call.get(name))
            if number is not None:
                columns[name] = number
        if "exe" in call:
            row.extra["exe"] = call["exe"]
        if "syscall" in call:
            columns["syscall"] = _call_name(call)
        code = _int(call.get("exit"))
        if code is not None:
            row.extra["exit"] = code
            if code < 0 and columns.get("decision") == "deny":
                columns.setdefault("error", errorcode.get(-code, f"errno {-code}"))
        self._paths(row)
        columns["command"] = self._command()
        columns["host"] = self.records[0].node
        return row

    def _paths(self, row: Row) -> None:
        cwd = self.first("CWD")
        if cwd and "cwd" in cwd.fields:
            row.extra["cwd"] = cwd.fields["cwd"]
        items = [record.fields for record in self.records if record.type == "PATH"]
        names = [
            item["name"] for item in items
            if item.get("name", "(null)") != "(null)"
            and (item.get("nametype") or item.get("objtype")) != "PARENT"
        ]  # fmt: skip
        if not names:
            return
        columns = row.columns
        own = columns.get("path")
        if own is None and columns.get("enforcer") in ("audit", "fanotify", "seccomp"):
            columns["path"] = names[0]
            columns["resource"] = (
                columns["resource"] if columns["resource"] != "other" else "filesystem"
            )
        elif isinstance(own, str) and not own.startswith("/"):
            whole = next((name for name in names if name.rpartition("/")[2] == own), None)
            columns["path"] = _absolute(whole, cwd) if whole else own
        if len(names) > 1:
            row.extra["paths"] = names[:_PATHS_SHOWN]

    def _command(self) -> str | None:
        execve, title = self.first("EXECVE"), self.first("PROCTITLE")
        if execve:
            words = []
            for number in range(_ARGUMENTS):
                word = execve.fields.get(f"a{number}")
                if word is None:
                    break
                words.append(word)
        elif title and title.fields.get("proctitle") not in (None, "(null)"):
            words = title.fields["proctitle"].rstrip("\0").split("\0")
        else:
            return None
        return json.dumps(words, ensure_ascii=False, separators=(",", ":")) if words else None


def _absolute(path: str, cwd: Record | None) -> str:
    """A path as its caller wrote it, seen from where he stood."""
    start = cwd.fields.get("cwd", "") if cwd else ""
    if path.startswith("/") or not start.startswith("/"):
        return path
    return f"{start.rstrip('/')}/{path.removeprefix('./')}"


def _int(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"-?\d{1,18}", value, re.ASCII) else None


def _call_name(fields: dict[str, str]) -> str:
    return fields.get("SYSCALL") or syscall_name(fields.get("arch"), fields["syscall"])


def _who(fields: dict[str, str]) -> dict[str, Any]:
    return {
        "process": fields.get("comm"),
        "pid": _int(fields.get("pid")),
        "uid": _int(fields.get("uid")),
    }


def _decision(row: Row, said: str) -> None:
    row.columns["kind"] = "decision"
    row.columns["decision"] = "allow" if said == "would-deny" else said
    if said == "would-deny":
        row.flags.add("would-deny")
    if said == "unknown":
        row.flags.add("unknown-decision")


def _keep(row: Row, fields: dict[str, str], *names: str) -> None:
    row.extra |= {name: fields[name] for name in names if name in fields}


def _endpoint(host: str | None, port: str | None) -> dict[str, Any]:
    number = _int(port)
    number = number if number is not None and 0 <= number <= destinations.MAX_PORT else None
    if host is None and number is None:
        return {}
    dst = destinations.join(host, number)
    return {"dst": dst, "dst_host": host, "dst_port": number}


def _apparmor(event: Event) -> Row | None:
    record = next(
        (r for r in event.records if r.type in WITH_DECISION and "apparmor" in r.fields), None
    )
    record = record or event.first(
        "APPARMOR_ALLOWED", "APPARMOR_DENIED", "APPARMOR_AUDIT", "APPARMOR_STATUS"
    )
    if record is None:
        return None
    fields = record.fields
    said = _APPARMOR.get(fields.get("apparmor") or record.type.removeprefix("APPARMOR_"))
    operation = fields.get("operation")
    mask = fields.get("requested") or fields.get("requested_mask") or fields.get("denied_mask")
    row = Row(
        {
            "enforcer": "apparmor",
            "syscall": operation,
            "policy": fields.get("profile"),
            **_who(fields),
        }
    )
    row.columns["ppid"] = _int(fields.get("parent"))
    if said is None:
        row.columns |= {"kind": "notice", "resource": "system", "message": operation}
    else:
        _decision(row, said)
    _keep(row, fields, "info", "class", "family", "sock_type", "protocol", "capname", "fstype",
          "srcname", "flags", "signal", "laddr", "lport", "fsuid", "ouid", "operation")  # fmt: skip
    if mask:
        row.extra["mask"] = mask
    error = _int(fields.get("error"))
    if error and said == "deny":
        row.columns["error"] = errorcode.get(-error, f"errno {-error}")
    row.columns |= _apparmor_object(row, fields, operation or "", mask or "")
    return row


def _apparmor_object(row: Row, fields: dict[str, str], operation: str, mask: str) -> dict[str, Any]:
    """Path, destination or target, with resource and access."""
    name, target = fields.get("name"), fields.get("target")
    verb = access_of_mask(operation, mask)
    if "capname" in fields or operation == "capable":
        return {"resource": "system", "access": "other", "target": fields.get("capname")}
    if operation in ("signal", "ptrace"):
        resource = "signal" if operation == "signal" else "process"
        access = "signal" if operation == "signal" else "other"
        return {"resource": resource, "access": access, "target": fields.get("peer")}
    if operation.startswith(("dbus", "uring", "userns", "mqueue")):
        resource = "ipc" if operation.startswith(("dbus", "mqueue")) else "system"
        return {"resource": resource, "access": verb, "target": fields.get("peer") or name}
    if "family" in fields or "faddr" in fields:
        if "faddr" not in fields:
            _keep(row, fields, "saddr", "src", "addr", "peer_addr", "peer")
        is_unix = fields.get("family") == "unix"
        unix = (fields.get("peer_addr") or fields.get("peer")) if is_unix else None
        verb = access_of_syscall(operation) or verb
        return {
            "resource": "network", "access": verb, "target": unix,
            **_endpoint(fields.get("faddr"), fields.get("fport")),
        }  # fmt: skip
    found: dict[str, Any] = {
        "resource": "process" if operation == "exec" else "filesystem",
        "access": verb, "path": name,
    }  # fmt: skip
    if target is not None:
        found["path_to" if operation in ("link", "rename") else "target"] = target
    return found


def _selinux(event: Event) -> Row | None:
    found = [record for record in event.records if record.verdict is not None]
    if not found:
        return None
    record, fields = found[0], found[0].fields
    enforced = fields.get("permissive") != "1"
    if "permissive" not in fields and event.call.fields.get("success") == "yes":
        # Old kernels do not say so, but a call that went through was not refused.
        enforced = False
    said = "allow" if record.verdict == "granted" else "deny" if enforced else "would-deny"
    row = Row({"enforcer": "selinux", "syscall": fields.get("tclass"), **_who(fields)})
    _decision(row, said)
    _keep(row, fields, "scontext", "tcontext", "tclass", "ioctlcmd", "dev", "ino", "capability")
    row.extra["permissions"] = list(record.permissions)
    if len(found) > 1:
        row.extra["more_permissions"] = [p for other in found[1:] for p in other.permissions]
    tclass = fields.get("tclass", "")
    row.columns["access"] = access_of_permissions(record.permissions)
    path = event.first("AVC_PATH")
    name = fields.get("path") or (path.fields.get("path") if path else None) or fields.get("name")
    if tclass in _FILE_CLASSES:
        row.columns |= {"resource": "filesystem", "path": name}
    elif "socket" in tclass:
        port = fields.get("dest") or fields.get("src")
        address = event.first("SOCKADDR")
        called = _sockaddr(address.fields.get("saddr", "")) if address else {}
        told = _endpoint(fields.get("daddr"), port)
        if not told.get("dst_host"):
            told |= called
        row.columns |= {"resource": "network", "path": name, **told}
    elif tclass in ("process", "process2"):
        row.columns |= {"resource": "process", "target": fields.get("tcontext")}
    else:
        row.columns |= {"resource": "system", "target": " ".join(record.permissions) or None}
    return row


def _landlock(event: Event) -> Row | None:
    access, domain = event.first("LANDLOCK_ACCESS"), event.first("LANDLOCK_DOMAIN")
    if access is None and domain is None:
        return None
    row = Row({"enforcer": "landlock"})
    told = domain.fields if domain else {}
    if access is None:
        row.columns |= {
            "kind": "notice", "resource": "system", "syscall": f"domain-{told.get('status', '')}",
        }  # fmt: skip
        _keep(row, told, "domain", "denials", "status", "mode")
        return row
    fields = access.fields
    _decision(row, "deny")
    blockers = [blocker for blocker in fields.get("blockers", "").split(",") if blocker]
    area = blockers[0].partition(".")[0] if blockers else ""
    row.columns["access"] = next((BLOCKERS[b] for b in blockers if b in BLOCKERS), "other")
    row.columns["syscall"] = blockers[0] if blockers else None
    row.extra |= {"domain": fields.get("domain"), "blockers": blockers}
    _keep(row, fields, "dev", "ino")
    if domain is not None and told.get("status") == "allocated":
        names = {"pid": _int(told.get("pid")), "exe": told.get("exe"), "process": told.get("comm")}
        row.extra["sandboxer"] = {name: value for name, value in names.items() if value is not None}
    if area == "net":
        port = fields.get("dest") or fields.get("src")
        row.columns |= {
            "resource": "network", **_endpoint(fields.get("daddr") or fields.get("saddr"), port),
        }  # fmt: skip
    elif area == "fs":
        row.columns |= {"resource": "filesystem", "path": fields.get("path")}
    else:
        resource = (
            "signal" if "scope.signal" in blockers else "process" if area == "ptrace" else "ipc"
        )
        row.columns |= {"resource": resource, "target": fields.get("path") or fields.get("ocomm")}
        _keep(row, fields, "opid", "ocomm")
    return row


def _seccomp(event: Event) -> Row | None:
    record = event.first("SECCOMP")
    if record is None:
        return None
    fields = record.fields
    row = Row({"enforcer": "seccomp", "resource": "system", "access": "call", **_who(fields)})
    code = fields.get("code", "")
    number = int(code, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", code) else -1
    action, said = _SECCOMP.get(number & 0xFFFF0000 if number >= 0 else -1, ("unknown", "unknown"))
    _decision(row, said)
    row.columns["syscall"] = _call_name(fields) if "syscall" in fields else None
    row.columns["policy"] = fields.get("subj")
    row.extra["action"] = action
    if action == "errno" and number & 0xFFFF:
        row.columns["error"] = errorcode.get(number & 0xFFFF, f"errno {number & 0xFFFF}")
    if "arch" in fields:
        row.extra["arch"] = fields.get("ARCH") or arch_name(fields["arch"])
    _keep(row, fields, "exe", "sig", "code")
    return row


def _fanotify(event: Event) -> Row | None:
    record = event.first("FANOTIFY")
    if record is None:
        return None
    row = Row(
        {"enforcer": "fanotify", "resource": "filesystem", "access": "open", "syscall": "open"}
    )
    answer = record.fields.get("resp", "")
    _decision(row, {"1": "allow", "2": "deny"}.get(answer, "unknown"))
    _keep(row, record.fields, "fan_type", "fan_info", "subj_trust", "obj_trust")
    return row


def _plain_call(event: Event) -> Row | None:
    """A watched call: it went through, was refused by the kernel, or failed for another reason."""
    if event.first("SYSCALL") is None:
        return None
    fields = event.call.fields
    name = _call_name(fields) if "syscall" in fields else ""
    row = Row({"enforcer": "audit", "resource": "other", "access": access_of_syscall(name)})
    code = _int(fields.get("exit")) or 0
    if fields.get("success") == "yes":
        _decision(row, "allow")
    elif -code in _REFUSED:
        _decision(row, "deny")
    else:
        row.columns |= {"kind": "notice", "error": errorcode.get(-code, f"errno {-code}")}
    _keep(row, fields, "key")
    if "arch" in fields:
        row.extra["arch"] = fields.get("ARCH") or arch_name(fields["arch"])
    if name in ("execve", "execveat"):
        row.columns["resource"] = "process"
    address = event.first("SOCKADDR")
    if address and (found := _sockaddr(address.fields.get("saddr", ""))):
        row.columns |= {"resource": "network", **found}
    return row


def _sockaddr(raw: str) -> dict[str, Any]:
    """An address as the kernel's bytes in hex: IPv4, IPv6, or a socket's path."""
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2}){2,128}", raw):
        return {}
    data = bytes.fromhex(raw)
    family = int.from_bytes(data[:2], "little")
    if family == socket.AF_INET and len(data) >= 8:
        host = socket.inet_ntop(socket.AF_INET, data[4:8])
        return _endpoint(host, str(int.from_bytes(data[2:4], "big")))
    if family == 10 and len(data) >= 24:
        host = socket.inet_ntop(socket.AF_INET6, data[8:24])
        return _endpoint(host, str(int.from_bytes(data[2:4], "big")))
    path = data[2:].split(b"\0")[0]
    return {"path": path.decode(errors="replace")} if family == socket.AF_UNIX and path else {}
