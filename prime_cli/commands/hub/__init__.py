"""`prime hub`: run a hub for a team."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.hub"

app = group(
    "Run a hub for a team.",
    {
        "serve": (f"{_HERE}.serve:serve", "Serve a hub over HTTP."),
        "user": (f"{_HERE}.users:app", "Manage the users of a hub."),
        "team": (f"{_HERE}.teams:app", "Manage teams that publish as one owner."),
        "invite": (f"{_HERE}.invitations:invite", "Invite people to a hub."),
        "invitations": (f"{_HERE}.invitations:list_", "List the invitations of a hub."),
        "revoke-invitation": (f"{_HERE}.invitations:revoke", "Revoke an invitation."),
        "quota": (f"{_HERE}.quotas:app", "Limit what users and teams store, rent and spend."),
        "takedown": (f"{_HERE}.takedowns:app", "Take down what is published, or suspend a user."),
        "token": (f"{_HERE}.tokens:app", "Create, list and revoke API keys."),
        "approve": (
            f"{_HERE}.tokens:approve",
            "Approve a client that is waiting for `prime login`.",
        ),
        "usage": (f"{_HERE}.usage:usage", "Show what users spent on the hub's models."),
        "audit": (f"{_HERE}.maintenance:audit", "Show the audit log of a hub, newest first."),
        "migrate": (
            f"{_HERE}.maintenance:migrate",
            "Migrate a hub's database to this release's schema.",
        ),
        "gc": (f"{_HERE}.maintenance:gc", "Delete unreferenced blobs and abandoned uploads."),
        "backup": (
            f"{_HERE}.maintenance:backup",
            "Back up a hub to one file while it serves.",
        ),
        "restore": (f"{_HERE}.maintenance:restore", "Restore a backup into an empty hub."),
    },
)
