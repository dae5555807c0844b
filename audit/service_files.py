"""What launchd and systemd are told of the collector: the files, made from plain values.

They always say `sandtrail`: macOS has an `audit` of its own, and these files may run as root.
"""

import plistlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from audit.service_place import LABEL, UNIT
from audit_events.errors import UsageError

Manager = Literal["launchd", "systemd"]
# A collector was seen at 550 MB and its compaction, a process of its own for some seconds, at
# 0.8 GB (bench/SOAK.md); beyond the second figure something is wrong.
MEMORY_HIGH: Final = "1500M"
MEMORY_MAX: Final = "2G"
# Sources may be thousands of files, and each waits with an open descriptor.
OPEN_FILES: Final = 16_384
TASKS: Final = 128
# A stop seals what is left: some seconds on a slow disk.
STOP_S: Final = 60
RESTART_S: Final = 5
NICE: Final = 5
_UMASK: Final = 0o077
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9/._+ -]+")


@dataclass(frozen=True, slots=True)
class Service:
    """How the collector is run; `log` is the file it writes itself, None for the journal."""

    manager: Manager
    system: bool
    program: Sequence[str]
    path: Path
    log: Path | None

    @property
    def kind(self) -> str:
        """`launchd agent`, `systemd system unit` …"""
        if self.manager == "launchd":
            return f"launchd {'daemon' if self.system else 'agent'}"
        return f"systemd {'system' if self.system else 'user'} unit"

    @property
    def name(self) -> str:
        """What the manager calls it."""
        return LABEL if self.manager == "launchd" else UNIT


def text_of(service: Service) -> str:
    """The file; UsageError for a word that cannot stand in one."""
    for word in service.program:
        if any(ord(sign) < 32 for sign in word):
            raise UsageError("a path with a control character cannot be run as a service")
    return _plist(service) if service.manager == "launchd" else _unit(service)


def _plist(service: Service) -> str:
    limits = {"NumberOfFiles": OPEN_FILES}
    words: dict[str, Any] = {
        "Label": LABEL, "ProgramArguments": list(service.program), "RunAtLoad": True,
        "KeepAlive": True, "ThrottleInterval": RESTART_S, "ExitTimeOut": STOP_S, "Nice": NICE,
        "ProcessType": "Standard", "Umask": _UMASK, "SoftResourceLimits": limits,
        "HardResourceLimits": limits, "WorkingDirectory": "/",
        # The collector writes and rotates its own log.
        "StandardOutPath": "/dev/null", "StandardErrorPath": "/dev/null",
    }  # fmt: skip
    return plistlib.dumps(words, sort_keys=False).decode()


def _unit(service: Service) -> str:
    program = list(service.program)
    if not _PLAIN_NAME.fullmatch(program[0]):
        # systemd refuses odd signs in the name of what it runs, not in what it is told.
        program.insert(0, "/usr/bin/env")
    command = " ".join(_escaped(word) for word in program)
    hardened = _SYSTEM_ONLY if service.system else ""
    target = "multi-user.target" if service.system else "default.target"
    return f"""\
[Unit]
Description=Sandtrail: audit trail of AI-agent sandboxes
Documentation=man:sandtrail(1)
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec={RESTART_S}
TimeoutStopSec={STOP_S}
UMask=0077
WorkingDirectory=/
Nice={NICE}
MemoryHigh={MEMORY_HIGH}
MemoryMax={MEMORY_MAX}
TasksMax={TASKS}
LimitNOFILE={OPEN_FILES}
NoNewPrivileges=yes
{hardened}
[Install]
WantedBy={target}
"""


_SYSTEM_ONLY: Final = """\
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
LockPersonality=yes
"""


def _escaped(word: str) -> str:
    """A word of ExecStart: nothing in it is a specifier, a variable or the end of the word."""
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{safe}"'
