"""`prime rollouts …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.rollouts"

app = group(
    "Produce rollouts for trainers.",
    {
        "serve": (f"{_HERE}.serve:serve", "Serve rollouts with token ids to a trainer."),
        "adapter": (f"{_HERE}.adapter:adapter", "Copy a trainer's adapter into a project."),
        "dump": (f"{_HERE}.dump:dump", "Write rollouts with token ids as JSON lines."),
    },
)
