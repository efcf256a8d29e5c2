"""`prime context …`."""

from prime_cli.commands.lazy import group

app = group(
    "See, choose and change the hubs that are known here.",
    {
        "list": ("prime_cli.commands.context.list:list_", "List the hubs that are known here."),
        "use": ("prime_cli.commands.context.use:use", "Make a hub the current one."),
        "show": ("prime_cli.commands.context.show:show", "Show a context."),
        "add": (
            "prime_cli.commands.context.add:add",
            "Make a hub known, without logging in to it.",
        ),
        "rename": (
            "prime_cli.commands.context.rename:rename",
            "Call a context otherwise, with its key.",
        ),
        "delete": ("prime_cli.commands.context.delete:delete", "Forget a hub and its key."),
    },
)
