"""`prime env uninstall`."""

from typing import Annotated

import typer

from prime_cli.commands.options import OutputOpt, PythonOpt, QuietOpt, open_session
from prime_cli.envs.installers import Installer, plan_uninstall, run_uninstall
from prime_cli.envs.workspace import find_workspace


def uninstall(
    ctx: typer.Context,
    environments: Annotated[list[str], typer.Argument(help="Names or owner/name; several.")],
    tool: Annotated[Installer, typer.Option("--with", help="The installer.")] = Installer.UV,
    python: PythonOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Remove environments from the workspace.

    What they required stays.

    \b
    Example: prime env uninstall alphabet-sort
    See also: `prime env list --installed`, `prime env install`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    workspace = find_workspace(python)
    packages = plan_uninstall(environments, workspace)
    run_uninstall(packages, workspace, tool)
    named = ", ".join(f"{package.name} {package.version}" for package in packages)
    record = {"uninstalled": [{"name": p.name, "version": p.version} for p in packages]}
    target = workspace.folder or workspace.python
    session.output.done(f"Uninstalled {named} from {target}", value=record)
