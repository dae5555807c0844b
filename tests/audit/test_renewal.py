"""A running collector takes new rules without a restart, and keeps the old ones if they are bad."""

import threading
import time

from audit.packs import PackList, Renewal
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey

KEY = FingerprintKey(b"k" * 32)
RULE = "rules:\n  - {{id: ab, action: mask, pattern: {pattern}}}\n"


class Rules:
    """A list of packs that change, and what the renewal says and gives."""

    def __init__(self, folder, every_s: float = 0) -> None:
        self.pack = folder / "p.yaml"
        self.names = [str(self.pack)]
        self.settings = folder / "audit.toml"
        self.settings.write_text("one")
        self.said: list[str] = []
        self.asked = threading.Event()
        self.write("x1")
        self.packs = PackList(lambda: self.names, [self.settings])
        self.renewal = Renewal(
            self.make, self.packs.files, self.said.append, asked=self.asked, every_s=every_s
        )

    def write(self, pattern: str) -> None:
        """Another pattern in the pack."""
        self.pack.write_text(RULE.format(pattern=pattern))

    def make(self) -> Redactor:
        """A redactor of the pack as it is now."""
        return Redactor(self.packs.load().rules, KEY, engine=False)

    def turns(self) -> Redactor | None:
        """Turns of the collector until something happened."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if (made := self.renewal()) is not None or self.said:
                return made
            time.sleep(0.005)
        return None


def test_changed_rules_come_into_force(tmp_path) -> None:
    """And it is said by which digest the events that follow can be told."""
    rules = Rules(tmp_path)
    assert rules.renewal() is None
    rules.write("y22")
    made = rules.turns()
    assert made is not None
    assert made.redact_text("x1 y22")[0] == "x1 [REDACTED:ab]"
    assert rules.said == [f"redaction rules {made.digest} are in force"]


def test_bad_rules_change_nothing_and_are_named_once(tmp_path) -> None:
    """Fail closed means: the rules before stay in force, and somebody hears of it."""
    rules = Rules(tmp_path)
    rules.write("'(x'")
    assert rules.turns() is None
    [said] = rules.said
    assert "p.yaml:2:" in said
    assert said.endswith("the redaction rules before stay in force")
    for _ in range(5):
        assert rules.renewal() is None
    assert len(rules.said) == 1


def test_another_pack_in_the_list_comes_into_force(tmp_path) -> None:
    """The settings name one more, and nothing is restarted; it is watched from then on."""
    rules = Rules(tmp_path)
    more = tmp_path / "q.yaml"
    more.write_text(RULE.format(pattern="y22").replace("ab", "cd"))
    rules.names = [*rules.names, str(more)]
    rules.settings.write_text("one and two")
    made = rules.turns()
    assert made is not None
    assert made.redact_text("x1 y22")[0] == "[REDACTED:ab] [REDACTED:cd]"
    assert more in rules.packs.files()


def test_a_bad_list_changes_nothing(tmp_path) -> None:
    """A pack that is not there: the list before stays, and is still watched."""
    rules = Rules(tmp_path)
    rules.names = ["/no/such.yaml"]
    rules.settings.write_text("one and two")
    assert rules.turns() is None
    assert "/no/such.yaml" in rules.said[0]
    assert rules.packs.files() == [rules.settings, rules.pack]


def test_who_asks_gets_the_rules_at_once(tmp_path) -> None:
    """SIGHUP: also before the next look at the files, and where their times say nothing."""
    rules = Rules(tmp_path, every_s=3600)
    rules.write("y22")
    assert rules.renewal() is None
    rules.asked.set()
    made = rules.turns()
    assert made is not None
    assert made.redact_text("x1 y22")[0] == "x1 [REDACTED:ab]"
    assert not rules.asked.is_set()
