"""`prime env list --installed`; apart, since reading a workspace needs much that a hub does not."""

from prime_cli.envs.installed import InstalledEnvironment, list_installed
from prime_cli.envs.workspace import find_workspace, site_packages
from prime_cli.session import Session

_COLUMNS = ("Environment", "Version", "Generation", "From")


def show_installed(session: Session, python: str | None) -> None:
    """Print what the workspace has."""
    found = list_installed(site_packages(find_workspace(python)))
    rows = [[each.name, each.version, each.generation, _origin(each)] for each in found]
    page = {"environments": found, "total": len(found)}
    session.output.table(_COLUMNS, rows, records=found, page=page)
    if not rows:
        session.output.hint("install one with `prime env install starter/alphabet-sort`")


def _origin(each: InstalledEnvironment) -> str:
    return (each.origin and (each.origin.ref or each.origin.path)) or "-"
