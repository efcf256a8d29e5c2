"""`prime env install` and `prime env uninstall`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS, WRITES
from prime_cli.commands.env.bundle import show_bundle
from prime_cli.commands.options import (
    YES,
    DryRunOpt,
    PythonOpt,
    hub_options,
    local_options,
    open_session,
)
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import ExitCode
from prime_cli.core.refs import normalize_name
from prime_cli.envs.bundles.manifest import BundleManifest, BundleMember
from prime_cli.envs.install.installers import (
    Installer,
    PackageChange,
    plan_uninstall,
    run_uninstall,
)
from prime_cli.envs.install.plan import InstallPlan, plan_install, run_install
from prime_cli.envs.install.sources import InstallItem, InstallOptions
from prime_cli.envs.install.workspace import find_workspace
from prime_cli.terminal.output import Output


class InstalledItem(msgspec.Struct, frozen=True, kw_only=True):
    """An environment; `ref` and `sha256` if it is from a hub, `path` if it is local."""

    name: str
    version: str | None
    ref: str | None
    sha256: str | None
    path: str | None


class InstallResult(msgspec.Struct, frozen=True):
    """What was installed into a workspace, and what was there before."""

    workspace: str
    installed: list[InstalledItem]
    present: list[InstalledItem]


@hub_options(
    YES,
    answer=(InstallResult, list[PackageChange], BundleManifest),
    record=(InstallResult, PackageChange, BundleMember),
    effects=BUILDS,
)
def install(
    ctx: typer.Context,
    environments: Annotated[
        list[str],
        typer.Argument(help="owner/name[@version], a name, folder, wheel or bundle."),
    ],
    tool: Annotated[Installer, typer.Option("--with", help="The installer.")] = Installer.UV,
    path: Annotated[
        Path, typer.Option("--path", "-p", help="The folder in which plain names are looked up.")
    ] = Path("environments"),
    no_upgrade: Annotated[
        bool, typer.Option("--no-upgrade", help="Keep an installed version.")
    ] = False,
    prerelease: Annotated[
        bool, typer.Option("--prerelease", help="Allow pre-releases of its dependencies.")
    ] = False,
    sha256: Annotated[
        str | None,
        typer.Option("--sha256", metavar="HEX", help="Require this SHA-256."),
    ] = None,
    require_signature: Annotated[
        bool,
        typer.Option(
            "--require-signature", help="Require a trusted signature (`prime env signers`)."
        ),
    ] = False,
    dry_run: DryRunOpt = False,
    python: PythonOpt = None,
) -> None:
    """Install environments into the workspace.

    The workspace is --python, $UV_PROJECT_ENVIRONMENT, $VIRTUAL_ENV, the nearest .venv, or a new
    .venv here. `prime eval run` needs no installation.

    \b
    Example:
      prime env install starter/alphabet-sort
      prime env install ada/wordle@1.2 ./environments/my_env --dry-run
      prime env install ada/wordle@1.2 --sha256 HEX --require-signature
      prime env install wordle.bundle

    See also: `prime env list --installed`, `prime env uninstall`, `prime env bundle`,
    `prime eval run`.
    """
    session = open_session(ctx)
    show, here = session.output, Path.cwd()
    options = InstallOptions(
        tool,
        upgrade=not no_upgrade,
        prerelease=prerelease,
        offline=session.config.offline,
        environments=path,
        trust=session.trust_policy(require_signature=require_signature),
        sha256=sha256,
        require_signature=require_signature,
    )
    plan = plan_install(
        environments,
        find_workspace(python, here=here),
        options,
        hub=lambda: session.hub,
        here=here,
        progress=session.progress,
        show_changes=dry_run,
    )
    if dry_run:
        _show_plan(plan, show)
        return
    ask_about_changes(plan, show)
    done = run_install(plan, session.progress)
    origins = [item.origin.ref for item in (*done, *plan.present)]
    remember("environments", [ref.partition("@")[0] for ref in origins if ref])
    _show_done(plan, done, show)


def ask_about_changes(plan: InstallPlan, output: Output) -> None:
    """Say what is replaced; ask about what a person installed, and raise Declined for a no.

    UsageError where nobody can be asked and `--yes` was not given.
    """
    shown = {normalize_name(item.name) for item in plan.items} | {m.name for m in plan.foreign}
    own = [m for m in plan.changes if m.before not in (None, m.after) and m.name not in shown]
    if own:
        output.say("Replaces " + ", ".join(f"{m.name} {m.before} with {m.after}" for m in own))
    for move in plan.foreign:
        if move.after is None:
            output.warn(f"This removes the workspace's {move.name} {move.before}")
            continue
        output.warn(f"This changes the workspace's {move.name} from {move.before} to {move.after}")
    if plan.foreign:
        output.hint("`prime eval run` uses a separate interpreter and changes nothing")
        output.confirm("Continue?", otherwise="Nothing was installed")


def _show_plan(plan: InstallPlan, output: Output) -> None:
    if plan.bundle is not None:
        show_bundle(plan.bundle, output)
        return
    rows = [[move.name, move.before or "-", move.after or "-"] for move in plan.changes]
    records = plan.changes
    target = str(plan.workspace.folder or plan.workspace.python)
    if not plan.workspace.exists:
        output.say(f"A virtual environment would be created: {target}")
        rows = [[item.name, "-", item.version or "-"] for item in plan.items]
        records = tuple(PackageChange(i.name, None, i.version) for i in plan.items)
    output.table(["Package", "Now", "Then"], rows, records=records, title=f"In {target}")


def _show_done(plan: InstallPlan, done: tuple[InstallItem, ...], output: Output) -> None:
    target = plan.workspace.folder or plan.workspace.python
    for item in plan.present:
        output.say(f"{item.name} {item.version} is already in {target}")
    named = ", ".join(f"{item.name} {item.version or ''}".strip() for item in done)
    record = InstallResult(
        workspace=str(target),
        installed=[_record(item) for item in done],
        present=[_record(item) for item in plan.present],
    )
    sentence = f"Installed {named} into {target}" if done else "Nothing to install"
    output.done(sentence, value=record)


def _record(item: InstallItem) -> InstalledItem:
    origin = item.origin
    return InstalledItem(
        name=item.name,
        version=item.version,
        ref=origin.ref,
        sha256=origin.sha256,
        path=origin.path,
    )


class UninstalledItem(msgspec.Struct, frozen=True):
    """An environment that was removed."""

    name: str
    version: str


class UninstallResult(msgspec.Struct, frozen=True):
    """What was removed from the workspace."""

    uninstalled: list[UninstalledItem]


@local_options(answer=UninstallResult, effects=WRITES, exits=ExitCode.ENVIRONMENT)
def uninstall(
    ctx: typer.Context,
    environments: Annotated[list[str], typer.Argument(help="Names or owner/name; repeatable.")],
    tool: Annotated[Installer, typer.Option("--with", help="The installer.")] = Installer.UV,
    python: PythonOpt = None,
) -> None:
    """Remove environments from the workspace.

    Their dependencies stay.

    \b
    Example: prime env uninstall alphabet-sort
    See also: `prime env list --installed`, `prime env install`.
    """
    session = open_session(ctx)
    workspace = find_workspace(python)
    packages = plan_uninstall(environments, workspace)
    run_uninstall(packages, workspace, tool)
    named = ", ".join(f"{package.name} {package.version}" for package in packages)
    record = UninstallResult([UninstalledItem(p.name, p.version) for p in packages])
    target = workspace.folder or workspace.python
    session.output.done(f"Uninstalled {named} from {target}", value=record)
