"""audit.toml as `audit setup` writes it: every setting explained, what is default commented out."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

# (dotted name, what explains it, an example in TOML); a test holds this against Settings.
EXPLAINED: Final = (
    ("store", "The folder that events are kept in. --store and AUDIT_STORE win.", '"/var/audit"'),
    ("host", "The name of this machine in the record.", '"mini-tokyo-07"'),
    (
        "keys",
        "The folder of the keys that fingerprints of masked secrets are made with. Never inside"
        "\nthe store; keep a copy, or a leaked secret cannot be searched any more.",
        '"/etc/sandtrail"',
    ),
    (
        "link_window",
        "What two sources tell of one operation lies within this time of each other, from 10ms to"
        "\n10s; so long the system's record waits for the enforcement layer's.",
        '"1s"',
    ),
    (
        "seal.rows",
        "Events move from the buffer to the archive when the first of these is reached.",
        "131072",
    ),
    ("seal.bytes", "", "33554432"),
    ("seal.after", "", '"30s"'),
    (
        "retention.keep",
        "Whole days older than this are removed. Without it nothing ever is.",
        '"90d"',
    ),
    (
        "runs.idle",
        "An event without a run's id joins the run of its sandbox within this time of it.",
        '"5m"',
    ),
    (
        "redaction.packs",
        "Rules of your own for what is masked, beside those that are built in: files or names"
        "\nof shipped packs.",
        '["rules.yaml"]',
    ),
    (
        "read.group",
        "Accounts of this group may tail and query through a socket, without the store's files;\n"
        "only the users named, if any; root's collector needs no socket path.",
        '"oncall"',
    ),
    ("read.users", "", "[]"),
    ("read.socket", "", '"/srv/sandtrail/read.sock"'),
)
_TOP: Final = """\
# Settings of Sandtrail, written by "audit setup". What is commented out is the default or an
# example. "audit config" shows each value and where it comes from; an unknown key is an error.
"""
_SOURCES: Final = """\
# One table a source: [sources.NAME] with kind and what that kind takes. The name stands in the
# record. decoder is a name such as native, or "auto": the first lines decide. Also known:
#   kind = "socket", path = "/run/sandtrail.sock"      for programs that write by themselves
"""
_DECODERS: Final = """\
# A decoder of your own for JSON lines of any producer: [decoders.NAME], see docs/guides.
"""
_POLICIES: Final = """\
# The policy of a sandbox, by the sandbox's name; changes of the file are noticed.
# [policies.agent-demo]
# file = "agent-readonly.yaml"
"""
_EXAMPLE_SOURCE: Final = """\
# [sources.openclaw]
# kind = "file"
# paths = ["/var/log/sandbox/*.jsonl"]
# decoder = "auto"
"""


def settings_text(
    values: Mapping[str, str],
    sources: Sequence[tuple[str, Sequence[str], str]],
    kinds: Sequence[str] = (),
) -> str:
    """The whole file: `values` by dotted name are set, `sources` are (name, paths, decoder).

    `kinds` are sources that need nothing but their kind, which is their name too.
    """
    blocks = [_TOP]
    tables: list[str] = []
    for name, words, example in EXPLAINED:
        table, _, key = name.rpartition(".")
        head = f"[{table}]\n" if table and table not in tables else ""
        tables.append(table)
        why = "".join(f"# {line}\n" for line in words.splitlines())
        value = values.get(name)
        line = f"# {key} = {example}\n" if value is None else f"{key} = {json.dumps(value)}\n"
        if why:
            blocks.append(why + head + line)
        else:
            blocks[-1] += line
    told = [_source(*source) for source in sources]
    told += [f"[sources.{kind}]\nkind = {json.dumps(kind)}\n" for kind in kinds]
    return "\n".join([*blocks, _SOURCES, *(told or [_EXAMPLE_SOURCE]), _POLICIES, _DECODERS])


def _source(name: str, paths: Sequence[str], decoder: str) -> str:
    return (
        f'[sources.{name}]\nkind = "file"\npaths = {json.dumps(list(paths))}\n'
        f"decoder = {json.dumps(decoder)}\n"
    )
