"""`prime completion bash`, `zsh`, `fish` and `powershell`."""

import typer

from prime_cli.answers import script


def bash() -> None:
    """Print the script for bash.

    It is static: no Python is started while you type.

    \b
    Example:
      eval "$(prime completion bash)"     # in ~/.bashrc

    See also: `prime completion install`.
    """
    typer.echo(script("bash"), nl=False)


def zsh() -> None:
    """Print the script for zsh.

    It is static: no Python is started while you type. It can also be saved as `_prime` in a folder
    of fpath.

    \b
    Example:
      eval "$(prime completion zsh)"      # in ~/.zshrc

    See also: `prime completion install`.
    """
    typer.echo(script("zsh"), nl=False)


def fish() -> None:
    """Print the script for fish.

    It is static: no Python is started while you type.

    \b
    Example:
      prime completion fish | source      # in config.fish

    See also: `prime completion install`.
    """
    typer.echo(script("fish"), nl=False)


def powershell() -> None:
    """Print the script for PowerShell.

    It is static: no Python is started while you type.

    \b
    Example:
      prime completion powershell | Out-String | Invoke-Expression

    See also: `prime completion install`.
    """
    typer.echo(script("powershell"), nl=False)
