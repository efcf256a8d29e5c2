"""The completion script for bash 3.2 and later."""

from prime_cli.answers.tree import Node, Option

_HEAD = """\
# Completion of `prime` for bash. Made by `python -m prime_cli.commands.tree`; do not edit.
_prime() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local at=prime index words= options=
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at ${COMP_WORDS[index]}" in
"""
_TAIL = """\
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o bashdefault -o default -F _prime prime
"""


def render(root: Node) -> str:
    """The script; where it offers nothing, bash completes file names."""
    steps = "".join(f"      '{typed}') at='{path}' ;;\n" for typed, path in root.steps())
    lines = [_HEAD, steps, "    esac\n  done\n", '  case "$at $previous" in\n']
    lines += [_after(node, option) for node in root.walk() for option in node.options]
    lines += ["  esac\n", "  case $at in\n", *(_offer(node) for node in root.walk()), _TAIL]
    return "".join(lines)


def _after(node: Node, option: Option) -> str:
    """What may follow an option that takes a value."""
    if option.takes == "flag":
        return ""
    pattern = "|".join(f"'{node.path} {name}'" for name in option.names)
    if option.values:
        words = f'COMPREPLY=($(compgen -W "{" ".join(option.values)}" -- "$current"))'
    elif option.takes == "folder":
        words = 'COMPREPLY=($(compgen -d -- "$current"))'
    else:
        words = ":"  # file names, by `complete -o default`
    return f"    {pattern}) {words}; return ;;\n"


def _offer(node: Node) -> str:
    words = " ".join([*(command.name for command in node.commands), *node.values])
    options = " ".join(name for option in node.options for name in option.names)
    return f"    '{node.path}') words='{words}' options='{options}' ;;\n"
