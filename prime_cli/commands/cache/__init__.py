"""`prime cache …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.cache"

app = group(
    "See what is kept on this disk, check it, and remove what is old.",
    {
        "list": (f"{_HERE}.list:list_kept", "List what is kept, how big it is and its last use."),
        "prune": (f"{_HERE}.prune:prune_kept", "Remove what was not used for some time."),
        "verify": (f"{_HERE}.verify:verify_kept", "Check that what is kept is what it was."),
    },
    aliases={"ls": "list"},
)
