"""The root table: what `prime` can do, by name."""

from prime_cli.commands.lazy import group

app = group(
    "Write, share, evaluate and train on RL environments.",
    {
        "env": ("prime_cli.commands.env:app", "Write, publish and install environments."),
        "eval": ("prime_cli.commands.eval:app", "Evaluate models on environments."),
        "config": ("prime_cli.commands.config:app", "See what prime is set to, and why."),
        "whoami": ("prime_cli.commands.whoami:whoami", "Show who you are on which hub."),
        "completion": (
            "prime_cli.commands.completion:completion",
            "Print shell completion for bash, zsh, fish or PowerShell.",
        ),
    },
)
