"""The table of `prime completion`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.completion"
app = group(
    "Complete commands, options and names with Tab.",
    {
        "install": (f"{_HERE}.install:install", "Have a shell complete prime's words."),
        "uninstall": (f"{_HERE}.uninstall:uninstall", "Undo what install did."),
        "bash": (f"{_HERE}.scripts:bash", "Print the script for bash."),
        "zsh": (f"{_HERE}.scripts:zsh", "Print the script for zsh."),
        "fish": (f"{_HERE}.scripts:fish", "Print the script for fish."),
        "powershell": (f"{_HERE}.scripts:powershell", "Print the script for PowerShell."),
    },
    aliases={"pwsh": "powershell"},
)
