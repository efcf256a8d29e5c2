"""`prime eval …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.eval"

app = group(
    "Evaluate models on environments.",
    {
        "run": (f"{_HERE}.run:run", "Evaluate a model on an environment."),
        "list": (f"{_HERE}.list:list_saved", "List the evaluations saved here."),
        "show": (f"{_HERE}.show:show", "Show a saved evaluation."),
    },
    default="run",
)
