"""`prime disks …`, also `prime disk …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.disks"

app = group(
    "Rent disks that outlive pods.",
    {
        "list": (f"{_HERE}.list:list_", "List the disks that are there."),
        "get": (f"{_HERE}.get:get", "Show all of a disk."),
        "create": (f"{_HERE}.create:create", "Rent a disk."),
        "update": (f"{_HERE}.update:update", "Call a disk otherwise."),
        "terminate": (f"{_HERE}.terminate:terminate", "Give a disk back, with all that is on it."),
    },
    aliases={"ls": "list"},
)
