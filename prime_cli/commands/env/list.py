"""`prime env list`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    PythonOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.completion_cache import remember
from prime_cli.envs.hub_environments import (
    EnvironmentPage,
    EnvironmentQuery,
    ListedEnvironment,
    list_environments,
)
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.envs.installed import InstalledEnvironment

_INSTALLED_COLUMNS = ("Environment", "Version", "Generation", "From")
_COLUMNS = ("Environment", "Version", "Description", "Visibility", "Stars", "Updated", "Tags")


class Visibility(StrEnum):
    """Who can see an environment."""

    PUBLIC = "public"
    PRIVATE = "private"


class SortBy(StrEnum):
    """What a listing is sorted by."""

    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    STARS = "stars"


class Order(StrEnum):
    """Up or down."""

    ASC = "asc"
    DESC = "desc"


def list_published(
    ctx: typer.Context,
    num: Annotated[
        int, typer.Option("--num", "-n", "--limit", "-l", min=1, max=1000, help="Rows on a page.")
    ] = 20,
    page: Annotated[int, typer.Option("--page", "-p", min=1, help="Which page.")] = 1,
    owner: Annotated[str | None, typer.Option("--owner", help="Of this user or team.")] = None,
    visibility: Annotated[
        Visibility | None, typer.Option("--visibility", help="Only these.", case_sensitive=False)
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", "-s", help="With this in name or description.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", "--tags", help="With this tag; repeatable.")
    ] = None,
    sort: Annotated[SortBy, typer.Option("--sort", help="Sort by.")] = SortBy.CREATED_AT,
    order: Annotated[Order, typer.Option("--order", help="Sort order.")] = Order.DESC,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you published.")] = False,
    starred: Annotated[bool, typer.Option("--starred", help="Only those with your star.")] = False,
    installed: Annotated[
        bool, typer.Option("--installed", help="What the workspace has, instead of the hub.")
    ] = False,
    python: PythonOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List environments on the hub.

    \b
    Example:
      prime env list --search sort
      prime env list --mine --output json
    \b
    See also: `prime env info`, `prime env versions`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if installed:
        _show_installed(session, python)
        return
    query = EnvironmentQuery(
        page=page,
        per_page=num,
        owner=owner,
        visibility=visibility,
        search=search,
        tags=tuple(tags or ()),
        sort_by=sort,
        order=order,
        mine=mine,
        starred=starred,
    )
    _show(session, list_environments(session.hub, query))


def _show(session: Session, listing: EnvironmentPage) -> None:
    remember("environments", [each.environment for each in listing.environments])
    rows = [_row(each) for each in listing.environments]
    session.output.table(_COLUMNS, rows, records=listing.environments, page=listing)
    if not rows:
        session.output.hint("start one with `prime env init my-env`")
    elif listing.has_more:
        session.output.hint(
            f"{listing.total} in all; see more with `--page {listing.page + 1}` or `--search`"
        )


def _row(each: ListedEnvironment) -> list[str]:
    return [
        each.environment,
        each.version or "-",
        each.description,
        each.visibility.lower(),
        str(each.stars),
        each.updated_at,
        ", ".join(each.tags),
    ]


def _show_installed(session: Session, python: str | None) -> None:
    """What the workspace has; imported here, as reading one needs much that a hub does not."""
    from prime_cli.envs.installed import list_installed
    from prime_cli.envs.workspace import find_workspace, site_packages

    found = list_installed(site_packages(find_workspace(python)))
    rows = [[each.name, each.version, each.generation, _origin(each)] for each in found]
    page = {"environments": found, "total": len(found)}
    session.output.table(_INSTALLED_COLUMNS, rows, records=found, page=page)
    if not rows:
        session.output.hint("install one with `prime env install starter/alphabet-sort`")


def _origin(each: "InstalledEnvironment") -> str:
    return (each.origin and (each.origin.ref or each.origin.path)) or "-"
