"""A stand-in for `journalctl`, for tests: follows a file of entries, each with its cursor.

`install` puts an executable into a folder; `entries` beside it grows, `says` beside it is written
to standard error, and with `code` the call ends so. With `slow` entries come one by one.
"""

import json
import os
import random
import sys
import time
from pathlib import Path


def install(folder: Path) -> Path:
    """The command's path."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "journalctl"
    command.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).read_text())
    command.chmod(0o755)
    (folder / "entries").touch()
    return command


def entry(number: int, message: str | None = None) -> bytes:
    """An audit record in the journal: serial and pid are its number."""
    at = 1_795_978_564_000_000 + number * 1000
    record = message or (
        f'AVC apparmor="DENIED" operation="open" profile="p" name="/etc/f{number}" pid={number} '
        'comm="sh" requested_mask="r" denied_mask="r" fsuid=0 ouid=0'
    )
    words = {
        "__CURSOR": f"s=1;i={number:x}", "__REALTIME_TIMESTAMP": str(at), "_TRANSPORT": "audit",
        "_HOSTNAME": "box", "_AUDIT_TYPE": "1400", "_AUDIT_TYPE_NAME": "AVC",
        "_AUDIT_ID": str(number), "_SOURCE_REALTIME_TIMESTAMP": str(at), "MESSAGE": record,
    }  # fmt: skip
    return json.dumps(words).encode() + b"\n"


def _shuffled(line: bytes) -> bytes:
    """The real one writes fields in another order at each call; the length is the same."""
    fields = list(json.loads(line).items())
    random.shuffle(fields)
    return json.dumps(dict(fields)).encode() + b"\n"


def main() -> None:
    """Entries after the cursor; for ever with `--follow`."""
    here = Path(sys.argv[0]).parent
    with (here / "calls").open("a") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    if (here / "says").exists():
        os.write(2, (here / "says").read_bytes())
    if (here / "code").exists():
        sys.exit(int((here / "code").read_text()))
    if "--lines=0" in sys.argv:
        return
    after = next((w.partition("=")[2] for w in sys.argv if w.startswith("--after-cursor=")), None)
    with (here / "entries").open("rb") as file:
        skipping = after is not None
        while True:
            line = file.readline()
            if line.endswith(b"\n"):
                if not skipping:
                    os.write(1, _shuffled(line))
                    time.sleep(0.003 if (here / "slow").exists() else 0)
                skipping = skipping and json.loads(line)["__CURSOR"] != after
            elif "--follow" not in sys.argv:
                return
            else:
                file.seek(-len(line), os.SEEK_CUR)
                time.sleep(0.005)


if __name__ == "__main__" and Path(sys.argv[0]).name == "journalctl":
    main()
