"""`make demo`: collect the shipped logs into a throw-away store and ask them questions.

Stops at the first command that fails; leaves the store behind and says where it is.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from make_story import SECRET

HERE = Path("examples")
AUDIT = Path(sys.executable).with_name("audit")
STORY = ("--sandbox", "agent-demo", "--since", "2026-07-28T00:00Z")


def fresh_place(room: Path) -> dict[str, str]:
    """The environment of a store and a key of its own under `room`."""
    settings = room / "audit.toml"
    settings.write_text(f'host = "mini-tokyo-07"\nkeys = {json.dumps(str(room / "keys"))}\n')
    settings.chmod(0o600)
    return {"AUDIT_STORE": str(room / "store"), "AUDIT_CONFIG": str(settings)}


def title(text: str) -> None:
    """Say what the next commands show."""
    print(f"\n━━ {text}", flush=True)


def audit(*words: str) -> None:
    """Run a command where a person would, its output as it comes."""
    print(f"$ audit {shlex.join(words)}", flush=True)
    subprocess.run([AUDIT, *words], check=True)


def answer(*words: str) -> list[dict[str, object]]:
    """The rows of a query."""
    run = subprocess.run([AUDIT, *words, "--json"], check=True, stdout=subprocess.PIPE)
    rows: list[dict[str, object]] = json.loads(run.stdout)
    return rows


def collect_and_ask(_room: Path) -> None:
    """The story, then the questions of the morning after."""
    title("one log of 3,412 lines, one of them torn, into a fresh store")
    audit("collect", str(HERE / "agent-demo.jsonl"), "--once")
    title("the newest events")
    audit("tail", "-n", "14")
    title("what was the agent refused, and by which line")
    audit("query", "--decision", "deny", *STORY)
    title("what did it touch in its workspace (newest 8)")
    audit("query", "--resource", "filesystem", "--path", "/workspace/**", *STORY, "-n", "8")
    title("which rule refused the connection")
    refused = answer("query", "--decision", "deny", "--dst", "140.82.113.4:443", *STORY)
    audit("explain", str(refused[-1]["seq"]))
    title("can anything be missing")
    audit("status")
    audit("gaps")


def what_was_masked(room: Path) -> None:
    """The secret is in the log that was read, and nowhere under the store."""
    title("one file name held a token; what the store knows of it")
    masked = [row for row in answer("query", *STORY, "-n", "0") if row.get("redactions")]
    for row in masked:
        print(f"  seq {row['seq']}  {row['redaction_kinds']}  {row['path']}")
    holding = [f for f in room.rglob("*") if f.is_file() and SECRET.encode() in f.read_bytes()]
    in_log = (HERE / "agent-demo.jsonl").read_bytes().count(SECRET.encode())
    print(
        f"  the token in the log that was read: {in_log} time; under {room}: {len(holding)} files"
    )
    if holding or not masked:
        raise SystemExit("the demo's secret was not masked")


def export(room: Path) -> None:
    """The answer as a file, and the manifest that says what it holds."""
    title("the same answer as a file, with its manifest")
    out = room / "agent-demo.json"
    audit("export", *STORY, "--format", "json", "-o", str(out))
    (manifest,) = room.glob("agent-demo.json*manifest*")
    says = json.loads(manifest.read_text())
    says["columns"] = f"{len(says['columns'])} names"
    print(f"{manifest.name}, its list of columns cut short:\n{json.dumps(says, indent=2)}")
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    rows = len(json.loads(out.read_text()))
    if (rows, digest) != (says["rows"], says["sha256"]):
        raise SystemExit("the manifest does not fit its file")
    print(f"  checked: {rows} rows and the SHA-256 of {out.name} are as the manifest says")


def real_capture(room: Path) -> None:
    """What macOS itself reported, from a capture of `log stream`."""
    capture = next(HERE.glob("macos-*.ndjson"), None)
    if capture is None:
        return
    title("and a real capture of macOS, where sandboxes report by themselves")
    audit("collect", str(capture), "--once", "--store", str(room / "macos"))
    audit("query", "--decision", "deny", "-n", "5", "--store", str(room / "macos"))


def main() -> None:
    """Run all parts over one fresh place, which stays for the person to look around in."""
    os.chdir(Path(__file__).resolve().parents[1])
    room = Path(tempfile.mkdtemp(prefix="sandtrail-demo-"))
    os.environ |= fresh_place(room)
    try:
        for part in (collect_and_ask, what_was_masked, export, real_capture):
            part(room)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"stopped: that command ended with {error.returncode}") from None
    print(f"\nask it yourself:  export AUDIT_STORE={shlex.quote(str(room / 'store'))}")


if __name__ == "__main__":
    main()
