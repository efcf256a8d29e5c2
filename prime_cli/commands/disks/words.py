"""What several commands for disks take and say."""

from typing import Annotated

import typer

from prime_cli.commands.pods.watching import Columns
from prime_cli.commands.pods.words import price_words
from prime_cli.pods.disks import ListedDisk

DiskArg = Annotated[
    str, typer.Argument(metavar="DISK", help="Its name, its id or the beginning of that.")
]


def _row(disk: ListedDisk, shown_id: str) -> list[str]:
    return [
        disk.name or "-",
        shown_id,
        f"{disk.size} GB",
        disk.status,
        disk.provider,
        disk.place or "-",
        disk.created_at,
        price_words(disk.price_hr),
        str(len(disk.pods)),
    ]


COLUMNS = Columns(
    ("Name", "Id", "Size", "Status", "Provider", "Place", "Created", "$/h", "Pods"), _row
)
