"""`prime completion`."""

from enum import StrEnum
from typing import Annotated

import typer

from prime_cli.answers import script


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
) -> None:
    """Print shell completion for bash, zsh, fish or PowerShell.

    The script is static: nothing is started while you type. Load it where the shell starts:

    \b
    bash        eval "$(prime completion bash)"     in ~/.bashrc
    zsh         eval "$(prime completion zsh)"      in ~/.zshrc, after compinit
    fish        prime completion fish | source      in config.fish
    PowerShell  prime completion powershell | Out-String | Invoke-Expression

    \b
    Example:
      prime completion zsh

    See also: `prime config show`.
    """
    typer.echo(script(shell), nl=False)
