"""`prime teams …`, also `prime team …`."""

from prime_cli.commands.lazy import group

app = group(
    "See the teams that you are in.",
    {
        "list": ("prime_cli.commands.teams.list:list_", "List your teams on the current hub."),
        "members": ("prime_cli.commands.teams.members:members", "List who is in a team."),
    },
)
