"""`prime pods …`, also `prime pod …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.pods"

app = group(
    "Rent machines, reach them, give them back.",
    {
        "create": (f"{_HERE}.create:create", "Rent a machine."),
        "list": (f"{_HERE}.list:list_", "List the pods that are there."),
        "status": (f"{_HERE}.status:status", "Show how a pod is, and what it has come to."),
        "ssh": (f"{_HERE}.ssh:ssh", "Log in to a pod, once it lets you in."),
        "exec": (f"{_HERE}.ssh:exec_", "Run a command in a pod, word for word."),
        "cp": (f"{_HERE}.ssh:cp", "Copy files to a pod or from it."),
        "logs": (f"{_HERE}.status:logs", "Print what was said while a pod was made and ran."),
        "history": (f"{_HERE}.list:history", "List the pods that ended, the last first."),
        "terminate": (
            f"{_HERE}.terminate:terminate",
            "End pods, and everything on them but their disks.",
        ),
    },
    aliases={"ls": "list", "connect": "ssh"},
)
