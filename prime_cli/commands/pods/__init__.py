"""`prime pods …`, also `prime pod …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.pods"

app = group(
    "Rent machines, reach them, give them back.",
    {
        "list": (f"{_HERE}.list:list_", "List the pods that are there."),
    },
    aliases={"ls": "list"},
)
