"""`prime hub user …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.hub.user"

app = group(
    "Say who may use a hub.",
    {
        "add": (f"{_HERE}.add:add", "Make a user."),
        "list": (f"{_HERE}.list:list_all", "List users."),
        "remove": (f"{_HERE}.remove:remove", "Remove a user, with all keys."),
    },
)
