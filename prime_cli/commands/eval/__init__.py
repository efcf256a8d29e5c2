"""`prime eval …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.eval"

app = group(
    "Evaluate models on environments.",
    {
        "run": (f"{_HERE}.run:run", "Evaluate a model on an environment."),
        "list": (
            f"{_HERE}.list:list_saved",
            "List evaluations saved here or on the hub.",
        ),
        "show": (f"{_HERE}.show:show", "Show a saved evaluation."),
        "view": (f"{_HERE}.show:view", "Browse saved evaluations in a full-screen viewer."),
        "search": (f"{_HERE}.search:search", "Search the rollouts of saved evaluations."),
        "rerun": (f"{_HERE}.rerun:rerun", "Repeat a run exactly."),
        "rescore": (
            f"{_HERE}.rerun:rescore",
            "Score the saved rollouts of a run again.",
        ),
        "import": (f"{_HERE}.imports:import_log", "Import a run of another tool."),
        "watch": (f"{_HERE}.watch:watch", "Watch a running evaluation until it ends."),
        "ctl": (f"{_HERE}.ctl:app", "Control a running evaluation or training."),
        "merge": (f"{_HERE}.merge:merge", "Merge the parts of an evaluation into one run."),
        "compare": (f"{_HERE}.compare:compare", "Test whether runs differ significantly."),
        "power": (
            f"{_HERE}.power:power",
            "Compute how many examples a comparison needs.",
        ),
        "leaderboard": (f"{_HERE}.leaderboard:leaderboard", "Show the leaderboard of a suite."),
        "gate": (f"{_HERE}.gate:gate", "Check a saved evaluation against limits."),
        "verify": (f"{_HERE}.receipts:verify", "Verify the receipt of a saved evaluation."),
        "sign": (f"{_HERE}.receipts:sign", "Sign the receipt of a saved evaluation."),
        "prices": (f"{_HERE}.prices:prices", "Show model prices in USD per million tokens."),
        "export": (
            f"{_HERE}.export:export",
            "Export a saved evaluation as HTML, CSV or a dataset.",
        ),
        "push": (f"{_HERE}.push:push", "Push saved evaluations to the hub."),
        "get": (f"{_HERE}.hub:get", "Show or download an evaluation from the hub."),
        "samples": (f"{_HERE}.hub:samples", "Show the samples of an evaluation on the hub."),
        "logs": (f"{_HERE}.hub:logs", "Print the environment's output in an evaluation."),
        "delete": (
            f"{_HERE}.hub:delete",
            "Delete an evaluation and its samples from the hub.",
        ),
    },
    aliases={"tui": "view"},
    default="run",
    panels={
        "Repeat": "rerun rescore merge",
        "Statistics and limits": "power gate leaderboard prices",
        "Share": "import export verify sign push get samples logs delete",
    },
)
