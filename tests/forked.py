"""Processes for tests, forked from one that has imported everything and compiled the automaton.

A start costs two seconds of imports and automaton, a fork a few milliseconds, and what is forked
is a process like any other: it has its own pid, environment, files and signals, and dies of
SIGKILL. Where the start itself is what a test is about, it starts the command by `subprocess`.
Only Linux forks such a process safely; elsewhere each is started in full.

`python -m tests.forked FD` is that process: it takes orders from the socket until it is closed.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

ROOT: Final = Path(__file__).parent.parent
# An order is a module, its words and an environment.
MAX_ORDER_BYTES: Final = 1 << 18
READY_S: Final = 120.0
STANDARD: Final = ("stdin", "stdout", "stderr")
# What the interpreter itself reads as it starts.
_AT_START: Final = {"PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL"}
File = int | BinaryIO
PRELOADED: Final = (
    "audit.main", "audit.collecting", "audit.masking", "audit.reading_server", "collector.service",
    "collector.upkeep", "deltalake", "duckdb", "pyarrow.parquet", "pyarrow.compute",
    "pyarrow.dataset", "query.engine", "tests.audit.as_another", "tests.audit.launch",
    "tests.collector.victim", "tests.collector.log_victim", "tests.collector.socket_victim",
)  # fmt: skip


class Forked:
    """As `subprocess.Popen`, as far as tests need it."""

    def __init__(self, pid: int, said: socket.socket, words: Sequence[str]) -> None:
        self.pid, self.args, self._said = pid, list(words), said
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, minus the signal if one ended it."""
        if self.returncode is None:
            if not select.select([self._said], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._said.recv(32))
            self._said.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """A signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class _Nursery:
    """The process that forks, started when it is first needed."""

    def __init__(self) -> None:
        self._orders: socket.socket | None = None
        self._lock = threading.Lock()

    def fork(self, order: dict[str, Any], files: Sequence[int]) -> tuple[int, socket.socket]:
        """The new process's pid, and the socket that will say how it ended."""
        ours, theirs = socket.socketpair()
        with self._lock:
            if self._orders is None:
                self._orders = _start()
            data = json.dumps(order).encode()
            assert len(data) < MAX_ORDER_BYTES
            socket.send_fds(self._orders, [data], [theirs.fileno(), *files])
            theirs.close()
            ours.settimeout(READY_S)
            pid = int(ours.recv(32))
            ours.settimeout(None)
        return pid, ours


_NURSERY = _Nursery()


def _start() -> socket.socket:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
        cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def start(
    module: str,
    *words: str,
    env: Mapping[str, str] | None = None,
    **files: File,
) -> "Forked | subprocess.Popen[bytes]":
    """`module`'s main() with these words, in a process of its own; it does not outlive the tests.

    Of the files stdin, stdout and stderr, what is not given is nothing.
    """
    if sys.platform == "linux" and not _AT_START & set(env or ()):
        process: Forked | subprocess.Popen[bytes] = _forked(module, words, env, files)
    else:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words], env=env, cwd=ROOT, start_new_session=True,
            **{name: files.get(name, subprocess.DEVNULL) for name in STANDARD},
        )  # fmt: skip
    atexit.register(process.kill)
    return process


def _forked(
    module: str,
    words: Sequence[str],
    env: Mapping[str, str] | None,
    files: Mapping[str, File],
) -> Forked:
    order = {
        "module": module, "words": words, "env": dict(os.environ if env is None else env),
        "cwd": str(Path.cwd()), "umask": _umask(),
    }  # fmt: skip
    with Path(os.devnull).open("r+b") as nothing:
        given = [files.get(name, nothing) for name in STANDARD]
        numbers = [file if isinstance(file, int) else file.fileno() for file in given]
        pid, said = _NURSERY.fork(order, numbers)
    return Forked(pid, said, [module, *words])


def _umask() -> int:
    # It can be asked for only by setting it, which other threads would notice.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("Umask:")[2].split()[0], 8)


def run(
    module: str,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """The same to its end, with what it said."""
    file = tempfile.TemporaryFile
    with file() as given, file() as stdout, file() as stderr:
        given.write(stdin)
        given.seek(0)
        process = start(module, *words, env=env, stdin=given, stdout=stdout, stderr=stderr)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
            process.wait()
            atexit.unregister(process.kill)
        said = [_text(file) for file in (stdout, stderr)]
    return subprocess.CompletedProcess([module, *words], code, *said)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


def serve(orders: socket.socket) -> None:
    """Fork for each order; say how each child ended."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: dict[int, socket.socket] = {}
    while True:
        for ready in select.select([orders, woken], [], [])[0]:
            if ready is orders:
                data, files, _, _ = socket.recv_fds(orders, MAX_ORDER_BYTES, 4)
                if not data:
                    return
                said = socket.socket(fileno=files[0])
                pid = os.fork()
                if pid == 0:
                    for held in (orders, said, *running.values()):
                        held.close()
                    os.close(woken)
                    os.close(wake)
                    _become(json.loads(data), files[1:])
                for file in files[1:]:
                    os.close(file)
                said.send(b"%d" % pid)
                running[pid] = said
            else:
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, 4096)
        _bury(running)


def _bury(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as said, contextlib.suppress(OSError):
            said.send(b"%d" % os.waitstatus_to_exitcode(status))


def _become(order: dict[str, Any], files: Sequence[int]) -> None:
    """Be the command, to the end of the process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order["cwd"])
    os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    if wanted := os.environ.get("PYTHONWARNINGS"):
        warnings._processoptions(wanted.split(","))  # type: ignore[attr-defined]
    for name, number in (("stdout", 1), ("stderr", 2)):
        lines = number == 2 or os.isatty(number)
        errors = "surrogateescape" if number == 1 else "backslashreplace"
        stream = open(number, "w", encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = [order["module"], *order["words"]]
    code = 1
    try:
        code = _exit_code(importlib.import_module(order["module"]).main)
    except BaseException:  # noqa: BLE001 - as the interpreter would
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _exit_code(main: Any) -> int:
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    return code if isinstance(code, int) else int(code is not None)


def main() -> None:
    """Import, compile, then fork."""
    from policies.redact import default_redactor
    from policies.redact.fingerprint import FingerprintKey
    from tests.conftest import compile_once

    with contextlib.suppress(ImportError):
        compile_once()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PRELOADED:
            importlib.import_module(name)
    default_redactor(FingerprintKey(b"k" * 32))
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
