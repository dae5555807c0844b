"""Texts as sandboxes show them, without a secret: what a redactor must leave alone, by kind."""

import random
from collections.abc import Callable, Iterator

_HEX = "0123456789abcdef"
_B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WORDS = [
    "app",
    "build",
    "cache",
    "client",
    "common",
    "config",
    "core",
    "data",
    "demo",
    "docs",
    "engine",
    "feature",
    "fixture",
    "graph",
    "index",
    "handler",
    "input",
    "keyboard",
    "layout",
    "login",
    "manager",
    "model",
    "monkey",
    "network",
    "note",
    "order",
    "parser",
    "passenger",
    "password",
    "policy",
    "public",
    "query",
    "reader",
    "report",
    "router",
    "schema",
    "secret",
    "session",
    "settings",
    "signal",
    "state",
    "store",
    "stream",
    "surface",
    "table",
    "target",
    "test",
    "theme",
    "token",
    "tokenizer",
    "trace",
    "user",
    "util",
    "view",
    "worker",
]
_SUFFIXES = ("py", "ts", "swift", "json", "md", "o", "lock", "plist", "yaml", "log", "tsx", "go")

Rng = random.Random


def _of(rng: Rng, letters: str, size: int) -> str:
    return "".join(rng.choices(letters, k=size))


def _name(rng: Rng, least: int = 1, most: int = 3, sign: str = "-") -> str:
    return sign.join(rng.choices(_WORDS, k=rng.randint(least, most)))


def _path(rng: Rng) -> str:
    root = rng.choice(("/workspace", "/Users/agent/src", "/usr/lib/python3.11", "/private/tmp"))
    return f"{root}/{'/'.join(_name(rng, 1, 2) for _ in range(rng.randint(1, 5)))}.{rng.choice(_SUFFIXES)}"


def _uuid(rng: Rng) -> str:
    return "-".join(_of(rng, _HEX, n) for n in (8, 4, 4, 4, 12))


def _camel(rng: Rng) -> str:
    return "".join(word.capitalize() for word in rng.choices(_WORDS, k=3))


KINDS: dict[str, Callable[[Rng], str]] = {
    "path": _path,
    "derived data": lambda r: (
        f"/Users/agent/Library/Developer/Xcode/DerivedData/{_camel(r)}-{_of(r, _LOWER, 28)}"
        f"/Build/Intermediates.noindex/{_camel(r)}.build/Objects-normal/arm64/{_camel(r)}.o"
    ),
    "bottle": lambda r: f"/opt/homebrew/Cellar/{_name(r, 1, 1)}@{r.randint(1, 30)}/{r.randint(0, 9)}.{r.randint(0, 40)}.{r.randint(0, 9)}_{r.randint(1, 3)}/lib",
    "image digest": lambda r: f"pulled ghcr.io/acme/{_name(r)}@sha256:{_of(r, _HEX, 64)} in {r.randint(1, 90)}s",
    "git sha": lambda r: f"{_of(r, _HEX, 40)} {r.choice(('refs/heads/', 'refs/tags/v'))}{_name(r)}",
    "git log": lambda r: f"commit {_of(r, _HEX, 40)}\nAuthor: bob <bob@example.com>\n\n    {_name(r, 3, 6, ' ')}",
    "short sha": lambda r: f"[main {_of(r, _HEX, 7)}] {_name(r, 2, 5, ' ')}",
    "uuid": lambda r: f"request {_uuid(r)} took {r.randint(1, 900)}ms",
    "trace id": lambda r: f"traceparent: 00-{_of(r, _HEX, 32)}-{_of(r, _HEX, 16)}-01",
    "integrity": lambda r: f'"integrity": "sha512-{_of(r, _B64, 86)}=="',
    "fingerprint": lambda r: f"SHA256:{_of(r, _B64, 43)} bob@host (ED25519)",
    "public key": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_of(r, _B64, 43)} bob@host",
    "mangled": lambda r: f"_ZN4core3{_name(r, 1, 1)}17h{_of(r, _HEX, 16)}E+0x{_of(r, _HEX, 3)}",
    "swift symbol": lambda r: f"$s{r.randint(3, 20)}{_camel(r)}V{r.randint(3, 20)}{_camel(r)}C7{_name(r, 1, 1)}yyF",
    "bundle id": lambda r: f"mach-lookup com.{_name(r, 1, 1)}.{_name(r, 1, 1)}.{_camel(r)}Service",
    "argv": lambda r: '["' + '","'.join((r.choice(("git", "node", "python3", "clang", "swiftc")), f"--{_name(r, 1, 2)}", _path(r), f"-I{_path(r)}")) + '"]',
    "argv flags": lambda r: f'["tool","--{_name(r)}-count={r.randint(0, 999)}","--no-{_name(r, 1, 1)}","-p","{r.randint(1024, 65535)}:80"]',
    "url": lambda r: f"GET https://{_name(r, 1, 2)}.example.com/v{r.randint(1, 3)}/{_name(r)}?page={r.randint(1, 90)}&sort={_name(r, 1, 1)}",
    "asset": lambda r: f"https://cdn.example.net/static/js/{_name(r)}.{_of(r, _HEX, 20)}.chunk.js",
    "registry": lambda r: f"https://registry.npmjs.org/@{_name(r, 1, 1)}/{_name(r)}/-/{_name(r)}-{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}.tgz",
    "env": lambda r: (
        f"{_name(r, 1, 2, '_').upper()}_{r.choice(('DIR', 'HOME', 'LEVEL', 'COUNT', 'MODE', 'PATH'))}="
        f"{r.choice((_path(r), str(r.randint(0, 9999)), 'true', _name(r)))}"
    ),
    "env reference": lambda r: (
        f"{r.choice(('API_KEY', 'GITHUB_TOKEN', 'DB_PASSWORD'))}="
        + r.choice(("$%s", "${%s}", "%%%s%%")) % _name(r, 1, 2, "_").upper()
    ),
    "placeholder": lambda r: f"{r.choice(('password', 'token', 'api_key', 'secret'))}: {r.choice(('<redacted>', '********', '[hidden]', '<your-token>', 'null', '(none)'))}",
    "counter": lambda r: f"prompt_tokens={r.randint(1, 99999)} completion_tokens={r.randint(1, 9999)} cache_key_hits={r.randint(0, 99)}",
    "prose": lambda r: f"{r.choice(('password', 'token', 'secret', 'credential'))} {r.choice(('is required', 'was not provided', 'expired', 'must be set', 'check passed'))} for {_name(r)}",
    "code": lambda r: f"const {_name(r, 1, 1)}Token = await {_name(r, 1, 1)}.get{_camel(r)}({_name(r, 1, 1)}.id)",
    "log": lambda r: f"2026-07-28T09:{r.randint(10, 59)}:{r.randint(10, 59)}Z INFO {_name(r, 2, 5, ' ')} [{r.randint(100, 99999)}] ok in {r.randint(1, 99)}ms",
    "seatbelt": lambda r: f"Sandbox: {_name(r, 1, 1)}({r.randint(2, 99999)}) deny(1) file-read-data {_path(r)}",
    "json": lambda r: f'{{"level":"info","id":"{_uuid(r)}","etag":"{_of(r, _HEX, 32)}","msg":"{_name(r, 2, 4, " ")}"}}',
    "address": lambda r: f"{r.randint(1, 223)}.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}:{r.choice((443, 80, 5432, 22))}",
    "version": lambda r: f"installed {_name(r)} {r.randint(0, 20)}.{r.randint(0, 40)}.{r.randint(0, 9)} ({_of(r, _HEX, 12)})",
    "arn": lambda r: f"arn:aws:iam::{r.randint(10**11, 10**12 - 1)}:role/{_name(r)}-{r.choice(('secret', 'token'))}-reader",
    "base64 data": lambda r: f"data:image/png;base64,iVBORw0KGgo{_of(r, _B64, 90)}",
    "object id": lambda r: f'{{"id":"{r.choice(("msg_01", "toolu_01", "chatcmpl-", "resp_", "run_", "cus_", "evt_", "pi_"))}{_of(r, _B64[:62], 24)}","type":"message"}}',
    "nix store": lambda r: f"/nix/store/{_of(r, _LOWER + '0123456789', 32)}-{_name(r)}-{r.randint(0, 9)}.{r.randint(0, 30)}/bin/{_name(r, 1, 1)}",
    "page cursor": lambda r: f"next_page_token={_of(r, _B64[:62], 40)} sync_token={r.randint(10**8, 10**12)}",
    "cache key": lambda r: f"cache_key=v2-{_of(r, _HEX, 40)} partition_key={_of(r, _HEX, 16)}",
    "serial": lambda r: ":".join(_of(r, _HEX.upper(), 2) for _ in range(20)),
    "git object": lambda r: f"/workspace/.git/objects/{_of(r, _HEX, 2)}/{_of(r, _HEX, 38)}",
    "model cache": lambda r: f"/root/.cache/huggingface/hub/models--{_name(r, 1, 1)}--{_name(r, 1, 2)}/snapshots/{_of(r, _HEX, 40)}/tokenizer.json",
    "cluster object": lambda r: f"kubectl get secret {_name(r)}-credentials-{_of(r, _LOWER + '0123456789', 10)} -n {_name(r, 1, 1)}",
    "flag of a place": lambda r: f"tool --{r.choice(('token-file', 'password-file', 'key', 'credentials-path'))} {_path(r)} --{r.choice(('token-type', 'auth-mode', 'key-id'))} {_name(r, 1, 2)}",
    "short flag": lambda r: f"{r.choice(('mkdir', 'cp', 'ssh', 'docker compose', 'nmap', 'xcodebuild'))} -p {r.choice((_path(r), str(r.randint(22, 9999)), _name(r), _camel(r)))} {_name(r, 1, 1)}",
    "calls": lambda r: f"{_name(r, 1, 1)}.{r.choice(('getToken', 'setPassword', 'secret', 'apiKey'))}('{_name(r, 1, 2)}', {_camel(r)}.{_name(r, 1, 1)})",
    "temporary": lambda r: f"/var/folders/{_of(r, _LOWER, 2)}/{_of(r, _LOWER + '0123456789_', 30)}/T/{_name(r)}.{_of(r, _LOWER.upper(), 8)}",
}  # fmt: skip


def texts(number: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Pairs of kind and text, each kind as often; same seed, same texts."""
    rng = random.Random(seed)
    kinds = list(KINDS.items())
    for n in range(number):
        kind, make = kinds[n % len(kinds)]
        yield kind, make(rng)
