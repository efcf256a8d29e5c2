"""`prime availability …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.availability"

app = group(
    "See which machines can be rented, and at what price.",
    {
        "list": (f"{_HERE}.list:list_", "List the machines that can be rented now."),
        "gpu-types": (f"{_HERE}.gpu_types:gpu_types", "List the types of GPUs there are."),
        "disks": (f"{_HERE}.disks:disks", "List the disks that can be rented now."),
    },
    aliases={"ls": "list"},
)
