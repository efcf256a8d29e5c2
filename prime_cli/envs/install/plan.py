"""Install environments into the workspace: find and fetch them, plan what changes, then do it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path

from packaging.requirements import Requirement

from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.bundles.unpacked import UnpackedEnvironment
from prime_cli.envs.fetch import FetchedEnvironment, fetch_unpacked, fetch_wheel
from prime_cli.envs.install.dependencies import OpenHub, fetch_dependencies
from prime_cli.envs.install.installed import (
    InstalledPackage,
    Origin,
    parse_requirements,
    read_distributions,
    record_origin,
    unmet_requirements,
)
from prime_cli.envs.install.installers import (
    Installer,
    InstallRequest,
    PackageChange,
    install,
    preview_changes,
)
from prime_cli.envs.install.workspace import (
    Workspace,
    create_workspace,
    python_version,
    site_packages,
)
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project.build import build_into_store
from prime_cli.envs.project.folder import ENVIRONMENTS, choose_local, load_project
from prime_cli.envs.trust import TrustPolicy
from prime_cli.runtime.packages import WheelPackage, installable, read_package, wheel_folders
from prime_cli.runtime.sources import locked_sources, source_requirements
from prime_cli.runtime.verifiers_releases import LIBRARY, newest_release
from prime_cli.runtime.verifiers_usage import read_requirements


@dataclass
class InstallRequirements:
    """What is gathered of each package.

    `limits` are constraints on verifiers, `sourced` requirements with the sources of their authors.
    """

    requirements: list[Requirement] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    sourced: list[str] = field(default_factory=list)
    pythons: list[str] = field(default_factory=list)

    @property
    def requires_python(self) -> str | None:
        """All of `pythons`, and those of the verifiers that will be taken."""
        asked = [*self.requirements, *map(Requirement, self.limits)]
        within = [r.specifier for r in asked if normalize_name(r.name) == LIBRARY]
        release = newest_release(within=reduce(and_, within)) if within else None
        pythons = [*self.pythons, *([release.python] if release else [])]
        return ",".join(dict.fromkeys(pythons)) or None


@dataclass(frozen=True)
class InstallOptions:
    """The user's wishes for an installation, as the flags say them; `trust` asks about strangers.

    With `bundled_only` packages come from the bundles of the environments, and from nowhere else.
    """

    tool: Installer = Installer.UV
    upgrade: bool = True
    prerelease: bool = False
    offline: bool = False
    environments: Path = ENVIRONMENTS
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    bundled_only: bool = False


@dataclass(frozen=True)
class InstallItem:
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

    `present` are environments that the workspace has already in that form; `changes` is what
    changes, known only where the installer was asked (`--dry-run`, or when an index is involved);
    `requires_python` is what a Python must fit that all items can be installed with.
    """

    workspace: Workspace
    request: InstallRequest
    items: tuple[InstallItem, ...]
    present: tuple[InstallItem, ...] = ()
    changes: tuple[PackageChange, ...] = ()
    requires_python: str | None = None

    @property
    def verifiers_change(self) -> PackageChange | None:
        """The change of the workspace's own verifiers, None if it stays or was not there."""
        return next((m for m in self.changes if m.name == LIBRARY and m.before), None)


def plan_install(
    words: Sequence[str | UnpackedEnvironment | FetchedEnvironment],
    workspace: Workspace,
    options: InstallOptions,
    *,
    hub: OpenHub,
    here: Path,
    progress: Progress,
    show_changes: bool = False,
) -> InstallPlan:
    """Find and fetch what `words` name and compare it with the workspace; installs nothing.

    What was fetched already may be among them. `show_changes` asks the installer what would change
    in any case. Raises what the hub, the names and the installer raise: NotFound, UsageError,
    IntegrityError, ResolveFailed and so on.
    """
    items = [_item(word, options, hub, here, progress) for word in words]
    installed = read_distributions(site_packages(workspace))
    present = [item for item in items if _is_present(item, installed, options)]
    needs = _collect_requirements(items)
    version = python_version(workspace) if workspace.exists else ""
    unmet = unmet_requirements(needs.requirements, installed, version) if version else None
    own = {normalize_name(item.name) for item in items}
    missing = [r for r in needs.requirements if unmet is None or r in unmet]
    missing = [r for r in missing if normalize_name(r.name) not in own]
    beside = [] if options.bundled_only else list(_owned(missing, items, options, hub, progress))
    missing = _without(missing, beside)
    complete = unmet is not None and not missing and not beside
    todo = items if missing or beside else [item for item in items if item not in present]
    request = _request(workspace, [*todo, *beside], needs, installed, options, complete=complete)
    plan = InstallPlan(
        workspace,
        request,
        (*items, *beside),
        present=tuple(item for item in present if item not in todo),
        requires_python=needs.requires_python,
    )
    if not workspace.exists or not todo or (complete and not show_changes):
        return plan
    with progress.task("Resolving packages", unit="packages"):
        return replace(plan, changes=preview_changes(request, offline=options.offline))


def run_install(
    plan: InstallPlan, options: InstallOptions, progress: Progress
) -> tuple[InstallItem, ...]:
    """Do what `plan` says, and record where each environment came from; returns what is new."""
    create_workspace(plan.workspace, plan.requires_python, progress, offline=options.offline)
    todo = tuple(item for item in plan.items if item not in plan.present)
    if not todo:
        return ()
    names = ", ".join(item.name for item in todo)
    with progress.task(f"Installing {names}", unit="packages"):
        install(plan.request, offline=options.offline)
    installed = read_distributions(site_packages(plan.workspace))
    for item in todo:
        package = installed.get(normalize_name(item.name))
        if package is not None:
            record_origin(package, item.origin)
    return todo


def _item(
    word: str | UnpackedEnvironment | FetchedEnvironment,
    options: InstallOptions,
    hub: OpenHub,
    here: Path,
    progress: Progress,
) -> InstallItem:
    if isinstance(word, FetchedEnvironment):
        return _fetched_item(word)
    if isinstance(word, UnpackedEnvironment):
        return _fetched_item(fetch_unpacked(word, options.trust))
    local = choose_local(word, here, progress, environments=options.environments)
    if local is None:
        return _hub_item(word, options, hub, progress)
    if local.suffix == ".whl":
        return _wheel_item(local)
    return _folder_item(local, options, progress)


def _folder_item(folder: Path, options: InstallOptions, progress: Progress) -> InstallItem:
    project = load_project(folder)
    built = build_into_store(project, prime_home(), progress, offline=options.offline)
    origin = Origin(path=str(folder.resolve()))
    return InstallItem(project.name, project.version, origin, read_package(built), folder)


def _wheel_item(path: Path) -> InstallItem:
    package = installable(read_package(path), prime_home())
    origin = Origin(sha256=package.sha256, path=str(path.resolve()))
    return InstallItem(package.facts.name, package.facts.version, origin, package)


def _hub_item(word: str, options: InstallOptions, hub: OpenHub, progress: Progress) -> InstallItem:
    ref = resolve_name(hub(), word, progress=progress)
    fetched = fetch_wheel(
        hub(), ref, offline=options.offline, progress=progress, trust=options.trust
    )
    return _fetched_item(fetched)


def _fetched_item(fetched: FetchedEnvironment) -> InstallItem:
    package = installable(fetched.package, prime_home())
    # The lock knows the commit, the project perhaps only a branch.
    package = replace(package, sources=locked_sources(fetched.lock) or package.sources)
    origin = Origin(ref=str(fetched.ref), sha256=package.sha256)
    return InstallItem(package.facts.name, package.facts.version, origin, package)


def _collect_requirements(items: Sequence[InstallItem]) -> InstallRequirements:
    """Every item's requirements; what its source cannot run with is added as a limit."""
    needs = InstallRequirements()
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


def _is_present(
    item: InstallItem, installed: dict[str, InstalledPackage], options: InstallOptions
) -> bool:
    package = installed.get(normalize_name(item.name))
    if package is None:
        return False
    if not options.upgrade:
        return True
    origin = package.origin
    same = origin is not None and origin.sha256 == item.origin.sha256
    return item.folder is None and same and package.version == item.version


def _owned(
    missing: Sequence[Requirement],
    items: Sequence[InstallItem],
    options: InstallOptions,
    hub: OpenHub,
    progress: Progress,
) -> Iterator[InstallItem]:
    """What is missing and is an environment of the same owner: it comes from the hub."""
    if all(normalize_name(requirement.name) == LIBRARY for requirement in missing):
        return
    owned: dict[str, list[str]] = {}
    for item in items:
        if item.origin.ref:
            owned.setdefault(EnvRef.parse(item.origin.ref).owner, []).append(item.package.sha256)
    for owner, wheels in sorted(owned.items()):
        for fetched in fetch_dependencies(
            owner,
            missing,
            hub=hub,
            progress=progress,
            offline=options.offline,
            trust=options.trust,
            wheels=wheels,
        ):
            yield _fetched_item(fetched)


def _without(missing: Sequence[Requirement], beside: Sequence[InstallItem]) -> list[Requirement]:
    names = {normalize_name(item.name) for item in beside}
    return [r for r in missing if normalize_name(r.name) not in names]


def _request(
    workspace: Workspace,
    items: Sequence[InstallItem],
    needs: InstallRequirements,
    installed: dict[str, InstalledPackage],
    options: InstallOptions,
    *,
    complete: bool,
) -> InstallRequest:
    """A verifiers that is there already is left to its owner; a new one must fit the source."""
    again = [item.name for item in items if normalize_name(item.name) in installed]
    limits = [] if LIBRARY in installed else list(needs.limits)
    limits += [s for s in needs.sourced if normalize_name(Requirement(s).name) not in installed]
    return InstallRequest(
        workspace,
        wheels=tuple(item.package.path for item in items if item.folder is None),
        editable=tuple(item.folder for item in items if item.folder is not None),
        again=tuple(again),
        limits=tuple(limits),
        complete=complete and not any(item.folder for item in items),
        prerelease=options.prerelease,
        find_links=_bundled_wheels(items) if options.offline else (),
        no_index=options.bundled_only,
        tool=options.tool,
    )


def _bundled_wheels(items: Sequence[InstallItem]) -> tuple[str, ...]:
    """The folders of packages that came to this machine with the items, in bundles."""
    home = prime_home()
    found = (folder for item in items for folder in wheel_folders(home, item.package.sha256))
    return tuple(dict.fromkeys(map(str, found)))
