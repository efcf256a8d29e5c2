"""`prime env list`."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec import Struct

from prime_cli.commands.options import PythonOpt, hub_options, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import ExitCode
from prime_cli.core.options import Option
from prime_cli.envs.hub_environments import (
    COLUMNS,
    EnvironmentListing,
    ListedEnvironment,
    list_environments,
)
from prime_cli.session import Session
from prime_cli.wire.environments import EnvironmentQuery

if TYPE_CHECKING:
    from prime_cli.envs.install.installed import InstalledEnvironment

_INSTALLED = "prime_cli.envs.install.installed"
_INSTALLED_COLUMNS = ("Environment", "Version", "Generation", "From")


class Paging(Struct, frozen=True):
    """Which page to show; `page` counts from 1."""

    rows: Annotated[
        int,
        Option(
            "Maximum number of rows per page.",
            names=("--num", "-n", "--limit", "-l"),
            least=1,
            most=1000,
        ),
    ] = 20
    page: Annotated[int, Option("Which page.", names=("--page", "-p"), least=1)] = 1


@hub_options(
    answer=(EnvironmentListing, f"{_INSTALLED}:InstalledList"),
    record=(ListedEnvironment, f"{_INSTALLED}:InstalledEnvironment"),
    exits=ExitCode.ENVIRONMENT,
)
def list_published(
    ctx: typer.Context,
    paging: Paging,
    query: EnvironmentQuery,
    installed: Annotated[
        bool, typer.Option("--installed", help="List the workspace instead of the hub.")
    ] = False,
    python: PythonOpt = None,
) -> None:
    """List environments on the hub.

    \b
    Example:
      prime env list --search sort
      prime env list --mine --output json
    \b
    See also: `prime env info`, `prime env versions`.
    """
    session = open_session(ctx)
    if installed:
        _show_installed(session, python)
        return
    offset = (paging.page - 1) * paging.rows
    query = msgspec.structs.replace(query, limit=paging.rows, offset=offset)
    _show(session, list_environments(session.hub, query))


def _show(session: Session, listing: EnvironmentListing) -> None:
    remember("environments", [each.environment for each in listing.environments])
    rows = [[text(each) for text in COLUMNS.values()] for each in listing.environments]
    session.output.table(tuple(COLUMNS), rows, records=listing.environments, page=listing)
    if not rows:
        session.output.hint("start one with `prime env init my-env`")
    elif listing.has_more:
        session.output.hint(
            f"{listing.total} in all; see more with `--page {listing.page + 1}` or `--search`"
        )


def _show_installed(session: Session, python: str | None) -> None:
    """What the workspace has; imported here, as reading one needs much that a hub does not."""
    from prime_cli.envs.install.installed import InstalledList, list_installed
    from prime_cli.envs.install.workspace import find_workspace

    found = list_installed(find_workspace(python).site_packages)
    rows = [[each.name, each.version, each.generation, _origin(each)] for each in found]
    page = InstalledList(found, len(found))
    session.output.table(_INSTALLED_COLUMNS, rows, records=found, page=page)
    if not rows:
        session.output.hint("install one with `prime env install starter/alphabet-sort`")


def _origin(each: "InstalledEnvironment") -> str:
    return (each.origin and (each.origin.ref or each.origin.path)) or "-"
