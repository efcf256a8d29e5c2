"""`prime hub token …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.hub.token"

app = group(
    "Make, list and revoke API keys.",
    {
        "add": (f"{_HERE}.add:add", "Make a key and print it."),
        "list": (f"{_HERE}.list:list_all", "List keys, of which none is shown."),
        "remove": (f"{_HERE}.remove:remove", "Revoke a key, or all of a user."),
    },
)
