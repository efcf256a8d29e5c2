"""Where a served hub keeps its things: options that all commands of `prime hub` share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.core.errors import NotFound
from prime_cli.core.paths import prime_home

if TYPE_CHECKING:
    from prime_cli.hub.context import Hub

DataOpt = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="PRIME_HUB_DATA",
        metavar="DIR",
        help="The folder of the hub's data.",
        show_default="served in prime's home",
    ),
]
DatabaseOpt = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="PRIME_HUB_DATABASE",
        metavar="URL",
        help="A postgresql:// database.",
        show_default="a file in DIR",
    ),
]
StorageOpt = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar="PRIME_HUB_STORAGE",
        metavar="PLACE",
        help="Where wheels and archives go: s3://bucket/prefix or a folder.",
        show_default="a folder in DIR",
    ),
]


def data_folder(given: Path | None) -> Path:
    """The folder of a served hub.

    It is not the one of the hub in the box: that one belongs to one user, who needs no key.
    """
    return given or prime_home() / "served"


def open_hub_data(
    data: Path | None, database: str | None, storage: str | None = None, *, new: bool = False
) -> "Hub":
    """The hub that the options name, to work on beside the processes that serve it.

    Only with `new` may it be made here: a mistyped folder is not an empty hub. Raises NotFound
    for a folder without a hub, and what `open_hub` and `open_storage` raise.
    """
    from prime_cli.hub.context import open_hub
    from prime_cli.hub.serving.options import ServeOptions

    folder = data_folder(data)
    if not (new or database or (folder / "hub.db").exists()):
        raise NotFound(
            f"There is no hub in {folder}",
            hint="name its folder with `--data`, or make one with `prime hub serve`",
        )
    options = ServeOptions(data=folder, database=database, storage=storage)
    return open_hub(options.settings())
