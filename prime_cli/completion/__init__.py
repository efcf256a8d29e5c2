"""Shell completion: the command tree as data, and the scripts made from it."""

SHELLS = ("bash", "zsh", "fish", "powershell")


def script(shell: str) -> str:
    raise NotImplementedError
