"""Where the file of a service lies; apart, since `status` looks there and has to start fast."""

import sys
from pathlib import Path
from typing import Final

LABEL: Final = "com.sandtrail.collector"
UNIT: Final = "sandtrail.service"
_ROOT: Final = Path("/")


def service_path(
    home: Path, *, system: bool, platform: str = sys.platform, root: Path = _ROOT
) -> Path:
    """The file of the service of `home`'s owner, or of the machine."""
    if platform == "darwin":
        base = root / "Library/LaunchDaemons" if system else home / "Library/LaunchAgents"
        return base / f"{LABEL}.plist"
    return (root / "etc/systemd/system" if system else home / ".config/systemd/user") / UNIT


def log_command(
    prog: str, home: Path, *, system: bool, platform: str = sys.platform, root: Path = _ROOT
) -> str | None:
    """What shows the collector's own log; None where no service is installed."""
    if not service_path(home, system=system, platform=platform, root=root).is_file():
        return None
    return "sudo sandtrail service logs --system" if system else f"{prog} service logs"
