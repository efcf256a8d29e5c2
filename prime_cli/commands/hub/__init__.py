"""`prime hub`: run a hub for a team."""

from prime_cli.commands.lazy import group

app = group(
    "Run a hub for a team.",
    {
        "serve": ("prime_cli.commands.hub.serve:serve", "Serve the hub to others."),
    },
)
