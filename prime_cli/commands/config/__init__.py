"""`prime config …`."""

from prime_cli.commands.lazy import group

app = group(
    "See what prime is set to, and why.",
    {"show": ("prime_cli.commands.config.show:show", "Show every setting and its source.")},
    aliases={"view": "show"},
)
