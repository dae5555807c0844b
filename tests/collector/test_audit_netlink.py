"""Linux audit records from the kernel's multicast group: real ones where this machine has them."""

import errno
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit_events.errors import SourceError
from collector.contracts import Block, GapClosed, GapOpened, Lost
from collector.decoders.linux_audit import LinuxAuditDecoder
from collector.sources.audit_netlink import (
    NEEDS,
    NETLINK_AUDIT,
    OVERRUN,
    AuditNetlinkSource,
    line_of,
    listen,
    source,
)
from tests.collector.logkit import Heard, following, until
from tests.collector.storekit import House, environment

AUDIT_GET, AUDIT_SET = 1000, 1001
REQUEST, ACKNOWLEDGE = 1, 4
# struct audit_status: a mask that says what is meant, enabled, and nine more words.
ENABLED_IS_MEANT, STATUS_BYTES = 1, 44
LANDLOCKED = Path(__file__).with_name("landlocked.py")
RECORD = b"audit(1795978564.342:3): pid=1 uid=0 msg='x'"


def message(kind: int, body: bytes, length: int | None = None) -> bytes:
    """As the kernel sends it."""
    size = 16 + len(body) if length is None else length
    return struct.pack("=IHHII", size, kind, 0, 0, 0) + body


@pytest.fixture
def group() -> None:
    """Skip where the kernel's group cannot be read: another system, no audit, no right to it."""
    try:
        listen().close()
    except SourceError as error:
        pytest.skip(f"no live audit records here: {error.message}")


def control(kind: int, body: bytes = b"") -> tuple[int, bytes]:
    """(kind, body) of what the kernel's audit answers; root's business."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT) as asking:
        asking.settimeout(5)
        flags = REQUEST if kind == AUDIT_GET else REQUEST | ACKNOWLEDGE
        asking.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = asking.recv(4096)
    return struct.unpack_from("=IH", answer)[1], answer[16:]


def enabled() -> int | None:
    """Whether the kernel audits, None where it does not say."""
    kind, body = control(AUDIT_GET)
    return struct.unpack_from("=II", body)[1] if kind == AUDIT_GET else None


def enable(value: int) -> bool:
    """Switch kernel audit, as `auditctl -e` does; whether the kernel did."""
    _, body = control(
        AUDIT_SET, struct.pack("=II", ENABLED_IS_MEANT, value).ljust(STATUS_BYTES, b"\0")
    )
    return struct.unpack_from("=i", body)[0] == 0 and enabled() == value


@pytest.fixture
def audit_on(group: None) -> Iterator[None]:
    """Kernel audit switched on, and left as it was: while it is off Landlock says nothing."""
    before = enabled()
    if before is None:
        pytest.skip("this kernel does not say whether it audits")
    if before == 0 and not enable(1):
        pytest.skip("kernel audit is switched off, and may not be switched on from here")
    try:
        yield
    finally:
        if before == 0:
            assert enable(0)


def refuse(secret: Path) -> int:
    """Let Landlock refuse a file; the pid that wanted it. Skips where it is not audited."""
    process = subprocess.Popen([sys.executable, str(LANDLOCKED), str(secret)])
    code = process.wait(20)
    if code == 3:
        pytest.skip("this kernel has no Landlock that is audited (Linux 6.15)")
    assert code == 0
    return process.pid


def kill_by_seccomp() -> int:
    """The pid of a process that the kernel killed for a system call outside the strict mode."""
    code = "import ctypes, os; c = ctypes.CDLL(None); c.prctl(22, 1, 0, 0, 0); os.getppid()"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    if process.wait(20) != -signal.SIGKILL:
        pytest.skip("this kernel has no seccomp")
    return process.pid


def test_a_real_landlock_denial_is_heard(audit_on: None, tmp_path: Path) -> None:
    """The kernel's own record of a refusal, a moment after it happened."""
    secret = tmp_path / "landlocked.txt"
    secret.write_text("x")
    with following(AuditNetlinkSource("audit")) as heard:
        until(lambda: heard.of(Block))
        denied = refuse(secret)
        until(lambda: str(secret).encode() in heard.data)
        until(lambda: b"type=1320 " in heard.data.partition(str(secret).encode())[2])
    record = next(line for line in heard.data.splitlines() if b"blockers=fs.read_file" in line)
    assert record.startswith(b"type=1423 msg=audit(")
    decoded = LinuxAuditDecoder().decode(Block("audit", "x", heard.data, 0, len(heard.data)))
    (row,) = [row for row in decoded.batch.to_pylist() if row["path"] == str(secret)]
    assert (row["enforcer"], row["decision"], row["access"]) == ("landlock", "deny", "read")
    assert row["pid"] == denied


def test_a_real_seccomp_kill_is_in_the_trail(group: None, tmp_path: Path) -> None:
    """From the kernel through the collector to a query; and a restart is a gap."""
    house = House(tmp_path / "house")
    pids = []
    for _ in range(2):
        words = ["collect", "--source", "kernel=audit-netlink:"]
        collector = subprocess.Popen(
            [sys.executable, "-m", "audit.main", "--store", str(house.root), *words],
            env=environment(house), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(lambda pid=collector.pid: listens(pid), 20)
            pids.append(kill_by_seccomp())
            until(lambda: rows(house, "--pid", str(pids[-1])), 20)
        finally:
            collector.terminate()
            collector.wait(30)
    (killed,) = rows(house, "--pid", str(pids[0]))
    assert (killed["enforcer"], killed["decision"]) == ("seccomp", "deny")
    assert [row["message"] for row in rows(house, "--kind", "gap")] == ["restart"]


def listens(pid: int) -> bool:
    """Whether a process is in the audit group."""
    words = [line.split() for line in Path("/proc/net/netlink").read_text().splitlines()[1:]]
    return any(w[1] == str(NETLINK_AUDIT) and w[2] == str(pid) and int(w[3], 16) & 1 for w in words)


def ask(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "audit.main", "--store", str(house.root), *words],
        env=environment(house), capture_output=True, text=True, check=False,
    )  # fmt: skip


def rows(house: House, *words: str) -> list[dict]:
    done = ask(house, "query", *words, "--format", "json")
    return json.loads(done.stdout or "[]")


def test_a_message_is_a_line_of_an_audit_log() -> None:
    """The header's length is not believed; newlines in a record cannot start another."""
    for length in (None, len(RECORD)):
        told = message(1107, RECORD + b"\0", length)
        assert line_of(told) == b"type=1107 msg=" + RECORD + b"\n"
    forged = message(1107, RECORD + b"\ntype=1400 msg=audit(1.1:1): x\0")
    assert line_of(forged).count(b"\n") == 1
    for other in (b"", b"x" * 16, message(2, b"\0\0\0\0"), message(1107, b"no record")):
        assert line_of(other) is None


class Overrun:
    """A socket whose kernel had to drop records, once."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ours.setblocking(False)
        self._told = False

    def fileno(self) -> int:
        return self.ours.fileno()

    def recvfrom(self, size: int) -> tuple[bytes, tuple[int, int]]:
        data = self.ours.recv(size)
        if not self._told:
            self._told = True
            raise OSError(errno.ENOBUFS, "No buffer space available")
        return data, (0, 1)

    def __enter__(self) -> "Overrun":
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.close()


def test_records_that_the_kernel_dropped_are_a_gap() -> None:
    """ENOBUFS says that some are missing, not how many; reading goes on."""
    fake = Overrun()
    with following(AuditNetlinkSource("audit", lambda: fake)) as heard:
        fake.theirs.send(b"lost")
        fake.theirs.send(message(1107, RECORD))
        until(lambda: heard.data)
    fake.theirs.close()
    (lost,) = heard.of(Lost)
    assert lost.reason == OVERRUN
    assert lost.count is None
    assert lost.since <= lost.until


def test_without_the_right_it_is_a_gap_that_says_what_is_missing() -> None:
    """And the end of it is seen when the right is there."""
    fake, tries = Overrun(), []

    def opened() -> Overrun:
        tries.append(1)
        if len(tries) == 1:
            raise SourceError(NEEDS)
        return fake

    with following(AuditNetlinkSource("audit", opened)) as heard:
        until(lambda: heard.of(GapClosed))
    fake.theirs.close()
    assert heard.of(GapOpened)[0].reason == "the audit group needs CAP_AUDIT_READ"


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux, to give it up"
)
def test_a_process_without_the_capability_is_told_so() -> None:
    """The kernel's own refusal, in our words."""
    code = (
        "import os; os.setuid(65534)\n"
        "from collector.sources.audit_netlink import listen\n"
        "from audit_events.errors import SourceError\n"
        "try: listen()\n"
        "except SourceError as error: print(error.message)\n"
    )
    root = Path(__file__).parents[2]
    loaded = "import collector.sources.audit_netlink, collector.sources.child\n" + code
    done = subprocess.run(
        [sys.executable, "-c", loaded], cwd=root, capture_output=True, text=True, check=False
    )
    if "no audit socket" in done.stdout:
        pytest.skip("this kernel has no audit")
    assert done.stdout.strip() == NEEDS, done.stderr


def test_the_group_has_no_end() -> None:
    """`--once` is refused before anything is read."""
    with pytest.raises(SourceError, match="no end"):
        source.check(source.settings(kind="audit-netlink"))
    with pytest.raises(SourceError, match="no end"):
        AuditNetlinkSource("audit").run({}, Heard().emit, threading.Event(), once=True)
