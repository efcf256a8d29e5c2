"""The completion script for zsh: a function for `fpath`, or to be read by `eval`."""

from prime_cli.answers.tree import Node, Option

_HEAD = """\
#compdef prime
# Completion of `prime` for zsh. Made by `python -m prime_cli.commands.tree`; do not edit.
_prime() {
  local at=prime index
  local -a commands options
  for ((index = 2; index < CURRENT; index++)); do
    case "$at $words[index]" in
"""
_TAIL = """\
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands || _files
  else
    _files
  fi
}
if [[ $funcstack[1] == _prime ]]; then _prime "$@"; else compdef _prime prime; fi
"""


def render(root: Node) -> str:
    """The script, with the summary of each command and the help of each option."""
    steps = "".join(f"      '{typed}') at='{path}' ;;\n" for typed, path in root.steps())
    lines = [_HEAD, steps, "    esac\n  done\n", '  case "$at $words[CURRENT-1]" in\n']
    lines += [_after(node, option) for node in root.walk() for option in node.options]
    lines += ["  esac\n", "  case $at in\n", *(_offer(node) for node in root.walk()), _TAIL]
    return "".join(lines)


def _after(node: Node, option: Option) -> str:
    if option.takes == "flag":
        return ""
    pattern = "|".join(f"'{node.path} {name}'" for name in option.names)
    if option.values:
        action = f"compadd -- {' '.join(option.values)}"
    else:
        action = {"folder": "_files -/", "file": "_files"}.get(option.takes, "_message value")
    return f"    {pattern}) {action}; return ;;\n"


def _offer(node: Node) -> str:
    commands = [_described(command.name, command.summary) for command in node.commands]
    commands += [_quoted(value) for value in node.values]
    options = [_described(name, option.help) for option in node.options for name in option.names]
    return (
        f"    '{node.path}')\n"
        f"      commands=({' '.join(commands)})\n"
        f"      options=({' '.join(options)}) ;;\n"
    )


def _described(name: str, text: str) -> str:
    return _quoted(f"{name}:{text}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
