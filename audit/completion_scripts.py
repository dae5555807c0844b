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
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} line at=1
  local -a given=()
  COMPREPLY=()
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case ${COMP_WORDS[at]} in
      --store|--config)
        # bash makes three words of --store=DIR.
        if [ "${COMP_WORDS[at+1]}" = "=" ]; then
          given+=("${COMP_WORDS[at]}" "${COMP_WORDS[at+2]}"); at=$((at + 3))
        else
          given+=("${COMP_WORDS[at]}" "${COMP_WORDS[at+1]}"); at=$((at + 2))
        fi ;;
      *) break ;;
    esac
  done
  if [ "$COMP_CWORD" -lt "$at" ]; then return; fi
  if [ "$COMP_CWORD" -eq "$at" ]; then
    COMPREPLY=( $(compgen -W "VERBS --store --config --help --version" -- "$cur") )
    return
  fi
  local verb=${COMP_WORDS[at]}
  if [ "$cur" = "=" ]; then cur=""
  elif [ "$prev" = "=" ]; then prev=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $cur == -* ]]; then
    case $verb in
CASES
    esac
    return
  fi
  if [ "$COMP_CWORD" -eq $((at + 1)) ]; then
    case $verb in
SUBS
    esac
  fi
  while IFS= read -r line; do
    COMPREPLY+=( "$(printf '%q' "$line")" )
  done < <("${COMP_WORDS[0]}" ${given[@]+"${given[@]}"} _complete -- "$verb" "$prev" \
    "${cur//\\/}" 2>/dev/null)
}
complete -o bashdefault -o default -F _sandtrail PROGRAMS
"""
_ZSH: Final = r"""#compdef PROGRAMS
# zsh completion of Sandtrail:  eval "$(PROG completion zsh)", or as _sandtrail in $fpath
_sandtrail() {
  local prev=${(Q)words[CURRENT-1]} cur=${(Q)words[CURRENT]} sign=""
  local -a values given
  local -i at=2
  while (( at < CURRENT )); do
    case $words[at] in
      --store=*|--config=*) given+=(${(Q)words[at]}); (( at += 1 )) ;;
      --store|--config) given+=($words[at] "${(Q)words[at+1]}"); (( at += 2 )) ;;
      *) break ;;
    esac
  done
  local verb=$words[at]
  if (( CURRENT < at )); then _files; return; fi
  if (( CURRENT == at )); then
    compadd -- VERBS --store --config --help --version
    return
  fi
  if [[ $cur == --*=* ]]; then
    prev=${cur%%=*} cur=${cur#*=}
    compset -P '*='
  elif [[ $cur == -* ]]; then
    case $verb in
CASES
    esac
    return
  fi
  if (( CURRENT == at + 1 )); then
    case $verb in
SUBS
    esac
  fi
  values=("${(@f)$(command $words[1] $given _complete -- "$verb" "$prev" "$cur" 2>/dev/null)}")
  if [[ -n $values[1] ]]; then compadd -- "${values[@]}"; else _files; fi
}
if [[ $funcstack[1] == _sandtrail ]]; then _sandtrail "$@"; else compdef _sandtrail PROGRAMS; fi
"""
_FISH: Final = r"""# fish completion of Sandtrail:  PROG completion fish | source
function __sandtrail_split
  set -g __sandtrail_given
  set -g __sandtrail_rest
  set -l words (commandline -opc)
  set -e words[1]
  while set -q words[1]
    switch $words[1]
      case '--store=*' '--config=*'
        set -a __sandtrail_given $words[1]
        set -e words[1]
      case --store --config
        set -q words[2]; or break
        set -a __sandtrail_given $words[1] $words[2]
        set -e words[2]
        set -e words[1]
      case '*'
        break
    end
  end
  set -g __sandtrail_rest $words
end
function __sandtrail_begins
  __sandtrail_split
  not set -q __sandtrail_rest[1]
end
function __sandtrail_verb
  __sandtrail_split
  test "$__sandtrail_rest[1]" = $argv[1]
end
function __sandtrail_below
  __sandtrail_verb $argv[1]; and test (count $__sandtrail_rest) -eq 1
end
function __sandtrail_values
  __sandtrail_split
  set -l typed (commandline -ct)
  set -l before $__sandtrail_rest[-1]
  set -l lead ''
  if string match -q -- '--*=*' $typed
    set -l parts (string split -m 1 = -- $typed)
    set before $parts[1]
    set typed $parts[2]
    set lead "$parts[1]="
  end
  # The shell hands over what is typed as it stands, quotes included.
  set -l meant (string unescape -- "$typed"); or set meant "$typed"
  set -l program (commandline -opc)[1]
  set -l found (command $program $__sandtrail_given _complete -- \
    $__sandtrail_rest[1] $before "$meant" 2>/dev/null)
  if set -q found[1]
    for value in $found
      printf '%s%s\n' $lead $value
    end
  else if test (count $__sandtrail_rest) -gt 1; or not contains -- $before GROUPS
    __fish_complete_path "$typed"
  end
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
    groups = " ".join(verb for verb, (_, below) in found.items() if below)
    lines = [_FISH.replace("PROG ", f"{prog} ").replace("GROUPS", groups)]
    for name in PROGRAMS:
        lines.append(f"complete -c {name} -f")
        lines.append(f"complete -c {name} -n __sandtrail_begins -a '{' '.join(found)}'")
        lines.append(f"complete -c {name} -n __sandtrail_begins -r -F -l store -l config")
        lines.append(f"complete -c {name} -n 'not __sandtrail_begins' -a '(__sandtrail_values)'")
        for verb, (names, below) in found.items():
            seen = f"'__sandtrail_verb {verb}'"
            lines += [f"complete -c {name} -n {seen} {_fish_flag(flag)}" for flag in names]
            if below:
                first = f"'__sandtrail_below {verb}'"
                lines.append(f"complete -c {name} -n {first} -a '{' '.join(below)}'")
    return "\n".join(lines) + "\n"


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


SHELLS: Final[dict[str, Callable[[str], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
NAMES: Final[Sequence[str]] = tuple(SHELLS)
