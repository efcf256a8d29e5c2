"""`prime hub`: run a hub for a team."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.hub"

app = group(
    "Run a hub for a team.",
    {
        "serve": (f"{_HERE}.serve:serve", "Serve the hub to others."),
        "user": (f"{_HERE}.users:app", "Say who may use a hub."),
        "team": (f"{_HERE}.teams:app", "Let several users publish as one owner."),
        "token": (f"{_HERE}.tokens:app", "Make, list and revoke API keys."),
        "approve": (f"{_HERE}.tokens:approve", "Let a client in that waits for `prime login`."),
        "audit": (f"{_HERE}.maintenance:audit", "Show what was done on a hub, the newest first."),
        "migrate": (
            f"{_HERE}.maintenance:migrate",
            "Bring a hub's database to the schema of this release.",
        ),
        "gc": (f"{_HERE}.maintenance:gc", "Delete what nobody needs any more."),
        "backup": (
            f"{_HERE}.maintenance:backup",
            "Write everything of a hub to one file, while it serves.",
        ),
        "restore": (f"{_HERE}.maintenance:restore", "Fill an empty hub from a backup."),
    },
)
