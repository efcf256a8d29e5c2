"""`prime train …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.train"

app = group(
    "Train a model on an environment.",
    {
        "run": (f"{_HERE}.run:run", "Train a model on an environment."),
        "list": (f"{_HERE}.saved:list_saved", "List the trainings in the current folder."),
        "show": (f"{_HERE}.saved:show", "Show a training: its steps, evaluations and verdict."),
        "stop": (f"{_HERE}.saved:stop", "Stop a training after its current step."),
    },
    default="run",
)
