"""`prime eval …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.eval"

app = group(
    "Evaluate models on environments.",
    {
        "run": (f"{_HERE}.run:run", "Evaluate a model on an environment."),
        "list": (
            f"{_HERE}.list:list_saved",
            "List the evaluations saved here, or those on the hub.",
        ),
        "show": (f"{_HERE}.show:show", "Show a saved evaluation."),
        "view": (f"{_HERE}.show:view", "Look at saved evaluations on the whole screen."),
        "rerun": (f"{_HERE}.rerun:rerun", "Make a run once more, exactly."),
        "rescore": (
            f"{_HERE}.rerun:rescore",
            "Give rewards anew to what a run has saved.",
        ),
        "compare": (f"{_HERE}.compare:compare", "Tell whether runs really differ."),
        "power": (
            f"{_HERE}.power:power",
            "Tell how many examples show a difference, or the reverse.",
        ),
        "leaderboard": (f"{_HERE}.leaderboard:leaderboard", "Show the leaderboard of a suite."),
        "gate": (f"{_HERE}.gate:gate", "Hold a saved evaluation to limits."),
        "prices": (f"{_HERE}.prices:prices", "Show what models cost, in USD per million tokens."),
        "export": (
            f"{_HERE}.export:export",
            "Export a saved evaluation as a page, CSV or data set.",
        ),
        "push": (f"{_HERE}.push:push", "Push saved evaluations to the hub."),
        "get": (f"{_HERE}.hub:get", "Show an evaluation of the hub, or save it here."),
        "samples": (f"{_HERE}.hub:samples", "Show the samples of an evaluation on the hub."),
        "logs": (f"{_HERE}.hub:logs", "Print what the environment of an evaluation printed."),
        "delete": (
            f"{_HERE}.hub:delete",
            "Delete an evaluation from the hub, with its samples.",
        ),
    },
    aliases={"tui": "view"},
    default="run",
    panels={
        "Repeat": "rerun rescore",
        "Statistics and limits": "power gate leaderboard prices",
        "Share": "export push get samples logs delete",
    },
)
