"""`prime sandbox …`, also `prime sandboxes …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.sandbox"

app = group(
    "Create sandboxes, and run code in them.",
    {
        "create": (f"{_HERE}.create:create", "Create a sandbox."),
        "list": (f"{_HERE}.list:list_", "List your sandboxes."),
        "get": (f"{_HERE}.list:get", "Show a sandbox and its limits."),
        "run": (f"{_HERE}.run:run", "Run a command in a sandbox."),
        "upload": (f"{_HERE}.files:upload", "Upload a file to a sandbox."),
        "download": (f"{_HERE}.files:download", "Download a file from a sandbox."),
        "cp": (f"{_HERE}.files:cp", "Copy files to or from a sandbox."),
        "logs": (f"{_HERE}.list:logs", "Print the output of a sandbox's start command."),
        "network": (f"{_HERE}.network:network", "Show or change what a sandbox can reach."),
        "delete": (f"{_HERE}.delete:delete", "Delete sandboxes."),
    },
    aliases={"ls": "list", "status": "get"},
)
