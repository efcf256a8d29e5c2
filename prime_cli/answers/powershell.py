"""The completion script for PowerShell 5.1 and later."""

from prime_cli.answers.tree import Node

_HEAD = """\
# Completion of `prime` for PowerShell. Made by `python -m prime_cli.commands.tree`; do not edit.
Register-ArgumentCompleter -Native -CommandName prime -ScriptBlock {
  param($current, $ast, $cursor)
"""
_TAIL = """\
  $typed = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } |
    ForEach-Object { $_.ToString() })
  $at = 'prime'
  foreach ($word in ($typed | Select-Object -Skip 1)) {
    if ($steps.ContainsKey("$at $word")) { $at = $steps["$at $word"] }
  }
  $after = "$at $($typed | Select-Object -Last 1)"
  if ($values.ContainsKey($after)) { $offers = $values[$after] }
  elseif ($current -like '-*') { $offers = $options[$at] }
  else { $offers = $words[$at] }
  $offers -split ' ' | Where-Object { $_ -and $_ -like "$current*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
"""


def render(root: Node) -> str:
    """The script; where it offers nothing, PowerShell completes file names."""
    nodes = list(root.walk())
    tables = {
        "steps": dict(root.steps()),
        "words": {node.path: " ".join(_words(node)) for node in nodes},
        "options": {
            node.path: " ".join(name for option in node.options for name in option.names)
            for node in nodes
        },
        "values": {
            f"{node.path} {name}": " ".join(option.values)
            for node in nodes
            for option in node.options
            if option.takes != "flag"
            for name in option.names
        },
    }
    return "".join([_HEAD, *(_table(name, rows) for name, rows in tables.items()), _TAIL])


def _words(node: Node) -> list[str]:
    return [*(command.name for command in node.commands), *node.values]


def _table(name: str, rows: dict[str, str]) -> str:
    lines = [f"    '{key}' = '{value}'\n" for key, value in rows.items()]
    return "".join([f"  ${name} = @{{\n", *lines, "  }\n"])
