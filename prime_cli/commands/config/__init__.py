"""`prime config …`."""

from prime_cli.commands.lazy import group

app = group(
    "See and change what prime is set to.",
    {
        "show": ("prime_cli.commands.config.show:show", "Show every setting and its source."),
        "get": ("prime_cli.commands.config.get:get", "Print one setting."),
        "set": ("prime_cli.commands.config.set:set_", "Write a setting into config.toml."),
        "unset": ("prime_cli.commands.config.unset:unset", "Take a setting out of config.toml."),
        "use": ("prime_cli.commands.config.use:use", "Make a hub the current one."),
        "path": ("prime_cli.commands.config.path:path", "Print where config.toml is."),
        "import": (
            "prime_cli.commands.config.import_:import_",
            "Take over contexts and keys of the official client.",
        ),
    },
    aliases={"view": "show"},
)
