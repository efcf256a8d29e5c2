"""Install environments into the workspace: find and fetch them, see what moves, then do it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.requirements import Requirement

from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.build import build_kept
from prime_cli.envs.bundles.kept import Bundled
from prime_cli.envs.fetch import FetchedEnvironment, fetch_wheel, from_bundle
from prime_cli.envs.installed import (
    Distribution,
    Origin,
    parse_requirements,
    read_distributions,
    record_origin,
    unmet_requirements,
)
from prime_cli.envs.installers import Move, Order, Tool, install, preview
from prime_cli.envs.local import ENVIRONMENTS, choose_local
from prime_cli.envs.names import resolve_name
from prime_cli.envs.needs import Needs
from prime_cli.envs.owned import OpenHub, fetch_owned
from prime_cli.envs.project import load_project
from prime_cli.envs.trust.gate import Gate
from prime_cli.envs.workspace import (
    Workspace,
    create_workspace,
    python_version,
    site_packages,
)
from prime_cli.runtime.bundled import wheel_folders
from prime_cli.runtime.families import LIBRARY
from prime_cli.runtime.locks import locked_sources
from prime_cli.runtime.packages import WheelPackage, installable, read_package
from prime_cli.runtime.reading import read_requirements
from prime_cli.runtime.sources import source_requirements


@dataclass(frozen=True)
class Wanted:
    """The user's wishes for an installation, as the flags say them; `gate` asks about strangers.

    With `bundled_only` packages come from the bundles of the environments, and from nowhere else.
    """

    tool: Tool = Tool.UV
    upgrade: bool = True
    prerelease: bool = False
    offline: bool = False
    environments: Path = ENVIRONMENTS
    gate: Gate = field(default_factory=Gate)
    bundled_only: bool = False


@dataclass(frozen=True)
class Item:
    """One environment to be installed: its wheel, or an editable folder, and where it came from.

    `package` is then the wheel that was built of the folder, to read what it needs.
    """

    name: str
    version: str | None
    origin: Origin
    package: WheelPackage
    folder: Path | None = None


@dataclass(frozen=True)
class InstallPlan:
    """What is to be done, before anything is done.

    `present` are environments that the workspace has already in that form; `moves` is what
    changes, known only where the installer was asked (`--dry-run`, or when an index is involved);
    `requires_python` is what a Python must fit that all items can be installed with.
    """

    workspace: Workspace
    order: Order
    items: tuple[Item, ...]
    present: tuple[Item, ...] = ()
    moves: tuple[Move, ...] = ()
    requires_python: str | None = None

    @property
    def moved_verifiers(self) -> Move | None:
        """The change of the workspace's own verifiers, None if it stays or was not there."""
        return next((m for m in self.moves if m.name == LIBRARY and m.before), None)


def plan_install(
    words: Sequence[str | Bundled | FetchedEnvironment],
    workspace: Workspace,
    wanted: Wanted,
    *,
    hub: OpenHub,
    here: Path,
    progress: Progress,
    show_moves: bool = False,
) -> InstallPlan:
    """Find and fetch what `words` name and compare it with the workspace; installs nothing.

    What was fetched already may be among them. `show_moves` asks the installer what would change
    in any case. Raises what the hub, the names and the installer raise: NotFound, UsageError,
    IntegrityError, ResolveFailed and so on.
    """
    items = [_item(word, wanted, hub, here, progress) for word in words]
    installed = read_distributions(site_packages(workspace))
    present = [item for item in items if _is_present(item, installed, wanted)]
    needs = _gather(items)
    version = python_version(workspace) if workspace.exists else ""
    unmet = unmet_requirements(needs.requirements, installed, version) if version else None
    own = {normalize_name(item.name) for item in items}
    missing = [r for r in needs.requirements if unmet is None or r in unmet]
    missing = [r for r in missing if normalize_name(r.name) not in own]
    beside = [] if wanted.bundled_only else list(_owned(missing, items, wanted, hub, progress))
    missing = _without(missing, beside)
    complete = unmet is not None and not missing and not beside
    todo = items if missing or beside else [item for item in items if item not in present]
    order = _order(workspace, [*todo, *beside], needs, installed, wanted, complete=complete)
    plan = InstallPlan(
        workspace,
        order,
        (*items, *beside),
        present=tuple(item for item in present if item not in todo),
        requires_python=needs.requires_python,
    )
    if not workspace.exists or not todo or (complete and not show_moves):
        return plan
    with progress.task("Resolving packages", unit="packages"):
        return replace(plan, moves=preview(order, offline=wanted.offline))


def run_install(plan: InstallPlan, wanted: Wanted, progress: Progress) -> tuple[Item, ...]:
    """Do what `plan` says, and record where each environment came from; returns what is new."""
    create_workspace(plan.workspace, plan.requires_python, progress, offline=wanted.offline)
    todo = tuple(item for item in plan.items if item not in plan.present)
    if not todo:
        return ()
    names = ", ".join(item.name for item in todo)
    with progress.task(f"Installing {names}", unit="packages"):
        install(plan.order, offline=wanted.offline)
    installed = read_distributions(site_packages(plan.workspace))
    for item in todo:
        package = installed.get(normalize_name(item.name))
        if package is not None:
            record_origin(package, item.origin)
    return todo


def _item(
    word: str | Bundled | FetchedEnvironment,
    wanted: Wanted,
    hub: OpenHub,
    here: Path,
    progress: Progress,
) -> Item:
    if isinstance(word, FetchedEnvironment):
        return _fetched_item(word)
    if isinstance(word, Bundled):
        return _fetched_item(from_bundle(word, wanted.gate))
    local = choose_local(word, here, progress, environments=wanted.environments)
    if local is None:
        return _hub_item(word, wanted, hub, progress)
    if local.suffix == ".whl":
        return _wheel_item(local)
    return _folder_item(local, wanted, progress)


def _folder_item(folder: Path, wanted: Wanted, progress: Progress) -> Item:
    project = load_project(folder)
    built = build_kept(project, prime_home(), progress, offline=wanted.offline)
    origin = Origin(path=str(folder.resolve()))
    return Item(project.name, project.version, origin, read_package(built), folder)


def _wheel_item(path: Path) -> Item:
    package = installable(read_package(path), prime_home())
    origin = Origin(sha256=package.sha256, path=str(path.resolve()))
    return Item(package.facts.name, package.facts.version, origin, package)


def _hub_item(word: str, wanted: Wanted, hub: OpenHub, progress: Progress) -> Item:
    ref = resolve_name(hub(), word, progress=progress)
    fetched = fetch_wheel(hub(), ref, offline=wanted.offline, progress=progress, gate=wanted.gate)
    return _fetched_item(fetched)


def _fetched_item(fetched: FetchedEnvironment) -> Item:
    package = installable(fetched.package, prime_home())
    # The lock knows the commit, the project perhaps only a branch.
    package = replace(package, sources=locked_sources(fetched.lock) or package.sources)
    origin = Origin(ref=str(fetched.ref), sha256=package.sha256)
    return Item(package.facts.name, package.facts.version, origin, package)


def _gather(items: Sequence[Item]) -> Needs:
    """Every item's requirements; what its source cannot run with is added as a limit."""
    needs = Needs()
    for item in items:
        facts = item.package.facts
        needs.pythons += [facts.requires_python] if facts.requires_python else []
        needs.requirements += parse_requirements(facts.requires_dist)
        if item.folder is None:  # uv itself reads the sources of a folder
            needs.sourced += source_requirements(facts.requires_dist, item.package.sources)
        specifier = read_requirements(item.package.path, facts).span.specifier
        if facts.exposes is not None:
            # Many environments forget to require what they import.
            needs.requirements.append(Requirement(LIBRARY))
            needs.limits.append(f"{LIBRARY}{specifier}")
    return needs


def _is_present(item: Item, installed: dict[str, Distribution], wanted: Wanted) -> bool:
    package = installed.get(normalize_name(item.name))
    if package is None:
        return False
    if not wanted.upgrade:
        return True
    origin = package.origin
    same = origin is not None and origin.sha256 == item.origin.sha256
    return item.folder is None and same and package.version == item.version


def _owned(
    missing: Sequence[Requirement],
    items: Sequence[Item],
    wanted: Wanted,
    hub: OpenHub,
    progress: Progress,
) -> Iterator[Item]:
    """What is missing and is an environment of the same owner: it comes from the hub."""
    owned: dict[str, list[str]] = {}
    for item in items:
        if item.origin.ref:
            owned.setdefault(EnvRef.parse(item.origin.ref).owner, []).append(item.package.sha256)
    for owner, wheels in sorted(owned.items()):
        for fetched in fetch_owned(
            owner,
            missing,
            hub=hub,
            progress=progress,
            offline=wanted.offline,
            gate=wanted.gate,
            wheels=wheels,
        ):
            yield _fetched_item(fetched)


def _without(missing: Sequence[Requirement], beside: Sequence[Item]) -> list[Requirement]:
    names = {normalize_name(item.name) for item in beside}
    return [r for r in missing if normalize_name(r.name) not in names]


def _order(
    workspace: Workspace,
    items: Sequence[Item],
    needs: Needs,
    installed: dict[str, Distribution],
    wanted: Wanted,
    *,
    complete: bool,
) -> Order:
    """A verifiers that is there already is left to its owner; a new one must fit the source."""
    again = [item.name for item in items if normalize_name(item.name) in installed]
    limits = [] if LIBRARY in installed else list(needs.limits)
    limits += [s for s in needs.sourced if normalize_name(Requirement(s).name) not in installed]
    return Order(
        workspace,
        wheels=tuple(item.package.path for item in items if item.folder is None),
        editable=tuple(item.folder for item in items if item.folder is not None),
        again=tuple(again),
        limits=tuple(limits),
        complete=complete and not any(item.folder for item in items),
        prerelease=wanted.prerelease,
        find_links=_bundled_wheels(items) if wanted.offline else (),
        no_index=wanted.bundled_only,
        tool=wanted.tool,
    )


def _bundled_wheels(items: Sequence[Item]) -> tuple[str, ...]:
    """The folders of packages that came to this machine with the items, in bundles."""
    home = prime_home()
    found = (folder for item in items for folder in wheel_folders(home, item.package.sha256))
    return tuple(dict.fromkeys(map(str, found)))
