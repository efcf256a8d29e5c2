"""Shell completion: static scripts, so that no Python starts while the user types.

Nothing is imported here: `prime completion bash` runs at the start of many shells.
"""

FILES = {
    "bash": "prime.bash",
    "zsh": "_prime",
    "fish": "prime.fish",
    "powershell": "prime.ps1",
}
SHELLS = tuple(FILES)


def script(shell: str) -> str:
    """The completion script for one of SHELLS.

    It lies beside this module in an installed package, in `completions/` in a checkout.
    """
    here = __file__.rpartition("__init__")[0]
    for folder in (here, f"{here}../../completions/"):
        try:
            with open(folder + FILES[shell], encoding="utf-8") as file:  # noqa: PTH123
                return file.read()
        except FileNotFoundError:
            continue
    raise FileNotFoundError(2, "No such file", FILES[shell])
