"""`prime hub team …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.hub.team"

app = group(
    "Let several users publish as one owner.",
    {
        "add": (f"{_HERE}.add:add", "Make a team, or add members to one."),
        "list": (f"{_HERE}.list:list_all", "List teams and their members."),
        "remove": (f"{_HERE}.remove:remove", "Remove members of a team, or the team."),
    },
)
