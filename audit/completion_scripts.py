"""Completion scripts: verbs and flags written out, values asked of `_complete` as one types."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from audit import commands
from audit.help import build

PROGRAMS: Final = ("audit", "sandtrail")

# No value passes `eval` or an unquoted expansion: names in the record are an agent's choice. bash
# expands what `compgen -W` is given, so values never go there. Bash 3.2 of macOS has no mapfile.
_BASH: Final = r"""# bash completion of Sandtrail:  eval "$(PROG completion bash)"
_sandtrail() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} line
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=( $(compgen -W "VERBS --store --config --help --version" -- "$cur") )
    return
  fi
  if [[ $cur == -* ]]; then
    case $verb in
CASES
    esac
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ]; then
    case $verb in
SUBS
    esac
  fi
  while IFS= read -r line; do
    COMPREPLY+=( "$(printf '%q' "$line")" )
  done < <("${COMP_WORDS[0]}" _complete "$verb" "$prev" "$cur" 2>/dev/null)
}
complete -o bashdefault -o default -F _sandtrail PROGRAMS
"""
_ZSH: Final = r"""#compdef PROGRAMS
# zsh completion of Sandtrail:  eval "$(PROG completion zsh)", or as _sandtrail in $fpath
_sandtrail() {
  local verb=$words[2] prev=$words[CURRENT-1] cur=$words[CURRENT]
  local -a values
  if (( CURRENT == 2 )); then
    compadd -- VERBS --store --config --help --version
    return
  fi
  if [[ $cur == -* ]]; then
    case $verb in
CASES
    esac
    return
  fi
  if (( CURRENT == 3 )); then
    case $verb in
SUBS
    esac
  fi
  values=("${(@f)$(command $words[1] _complete "$verb" "$prev" "$cur" 2>/dev/null)}")
  if [[ -n $values[1] ]]; then compadd -- $values; else _files; fi
}
if [[ $funcstack[1] == _sandtrail ]]; then _sandtrail "$@"; else compdef _sandtrail PROGRAMS; fi
"""
_FISH: Final = r"""# fish completion of Sandtrail:  PROG completion fish | source
function __sandtrail_values
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  set -q words[2]; or return
  command $words[1] _complete $words[2] $words[-1] "$typed" 2>/dev/null
end
"""


def script(shell: str, prog: str) -> str:
    """The script for one of SHELLS."""
    return SHELLS[shell](prog)


def flags() -> dict[str, tuple[list[str], list[str]]]:
    """Each verb with its flags and the commands under it."""
    return {verb: _parts(commands.load(verb, "audit"), verb) for verb in sorted(commands.names())}


def _parts(function: Any, verb: str) -> tuple[list[str], list[str]]:
    command = build(function, verb)
    below: Mapping[str, Any] = getattr(command, "commands", {})
    shown = [p for each in _all(command) for p in each.params]
    names = [
        flag
        for param in shown
        if not getattr(param, "hidden", False)
        for flag in (*param.opts, *param.secondary_opts)
        if flag.startswith("-")
    ]
    return list(dict.fromkeys([*names, "--help"])), sorted(below)


def _all(command: Any) -> list[Any]:
    """A command and all that stand under it, however deep."""
    below = getattr(command, "commands", {}).values()
    return [command, *(each for sub in below for each in _all(sub))]


def _case(template: str, take: Callable[[str], str]) -> str:
    found = flags()
    cases = [f"      {v}) {take(' '.join(names))} ;;" for v, (names, _) in found.items()]
    subs = [
        f"      {v}) {take(' '.join(below))}; return ;;" for v, (_, below) in found.items() if below
    ]
    text = template.replace("CASES", "\n".join(cases)).replace("SUBS", "\n".join(subs))
    return text.replace("VERBS", " ".join(found)).replace("PROGRAMS", " ".join(PROGRAMS))


def _bash(prog: str) -> str:
    compgen = 'COMPREPLY=( $(compgen -W "WORDS" -- "$cur") )'
    text = _case(_BASH, lambda words: compgen.replace("WORDS", words))
    return text.replace("PROG ", f"{prog} ")


def _zsh(prog: str) -> str:
    return _case(_ZSH, lambda words: f"compadd -- {words}").replace("PROG ", f"{prog} ")


def _fish(prog: str) -> str:
    found = flags()
    lines = [_FISH.replace("PROG ", f"{prog} ")]
    for name in PROGRAMS:
        lines.append(f"complete -c {name} -f")
        first = "__fish_use_subcommand"
        lines.append(f"complete -c {name} -n {first} -a '{' '.join(found)}'")
        lines.append(f"complete -c {name} -n 'not {first}' -F -a '(__sandtrail_values)'")
        for verb, (names, below) in found.items():
            seen = f"__fish_seen_subcommand_from {verb}"
            lines += [f"complete -c {name} -n '{seen}' {_fish_flag(flag)}" for flag in names]
            if below:
                lines.append(f"complete -c {name} -n '{seen}' -a '{' '.join(below)}'")
    return "\n".join(lines) + "\n"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


SHELLS: Final[dict[str, Callable[[str], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
NAMES: Final[Sequence[str]] = tuple(SHELLS)
