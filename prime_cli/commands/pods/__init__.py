"""`prime pods …`, also `prime pod …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.pods"

app = group(
    "Create, connect to and terminate pods.",
    {
        "create": (f"{_HERE}.create:create", "Create a pod."),
        "list": (f"{_HERE}.list:list_", "List your pods."),
        "status": (f"{_HERE}.status:status", "Show the status and cost of a pod."),
        "ssh": (f"{_HERE}.ssh:ssh", "Open an SSH session on a pod."),
        "exec": (f"{_HERE}.ssh:exec_", "Run a command in a pod."),
        "cp": (f"{_HERE}.ssh:cp", "Copy files to or from a pod."),
        "logs": (f"{_HERE}.status:logs", "Print the log of a pod."),
        "history": (f"{_HERE}.list:history", "List terminated pods, latest first."),
        "terminate": (
            f"{_HERE}.terminate:terminate",
            "Terminate pods; attached disks are kept.",
        ),
    },
    aliases={"ls": "list", "connect": "ssh"},
)
