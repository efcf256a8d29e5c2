"""Install environments into the workspace: find and fetch them, plan what changes, then do it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.bundles.archive import CheckedBundle
from prime_cli.envs.fetch import FetchedEnvironment
from prime_cli.envs.install.dependencies import OpenHub, fetch_dependencies
from prime_cli.envs.install.installed import (
    InstalledPackage,
    record_origin,
    unmet_requirements,
    wanted_requirements,
)
from prime_cli.envs.install.installers import (
    InstallRequest,
    PackageChange,
    foreign_changes,
    install,
    note_brought,
    preview_changes,
)
from prime_cli.envs.install.sources import (
    InstallItem,
    InstallOptions,
    fetched_item,
    find_item,
    open_sources,
)
from prime_cli.envs.install.workspace import (
    Workspace,
    create_workspace,
)
from prime_cli.runtime.import_check import try_import
from prime_cli.runtime.packages import WheelPackage, known_lock, wheel_folders
from prime_cli.runtime.sources import source_requirements
from prime_cli.runtime.verifiers_releases import LIBRARY, newest_release
from prime_cli.runtime.verifiers_usage import declared_verifiers, read_requirements
from prime_cli.wire.locks import Lock


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
class InstallPlan:
    """What is to be done, before anything is done.

    `present` are environments that the workspace has already in that form; `changes` is what
    changes, known only where the installer was asked (`--dry-run`, or when an index is involved),
    `foreign` those of it that need a yes (`ownership`);
    `requires_python` is what a Python must fit that all items can be installed with. `bundle` is
    set if a bundle is only to be shown; then there are no items.
    """

    workspace: Workspace
    request: InstallRequest
    items: tuple[InstallItem, ...]
    present: tuple[InstallItem, ...] = ()
    changes: tuple[PackageChange, ...] = ()
    requires_python: str | None = None
    offline: bool = False
    bundle: CheckedBundle | None = None
    foreign: tuple[PackageChange, ...] = ()


def plan_install(
    named: Sequence[str | FetchedEnvironment],
    workspace: Workspace,
    options: InstallOptions,
    *,
    hub: OpenHub,
    here: Path,
    progress: Progress,
    show_changes: bool = False,
) -> InstallPlan:
    """Find and fetch what is named and compare it with the workspace; installs nothing.

    `show_changes` asks the installer what would change in any case, and only shows a bundle. Raises
    what `open_sources`, the hub and the installer raise: NotFound, UsageError, IntegrityError,
    ResolveFailed and so on.
    """
    sources = open_sources(
        named, workspace, options, here=here, progress=progress, show_only=show_changes
    )
    workspace, options = sources.workspace.reread(), sources.options
    if sources.bundle is not None:
        return InstallPlan(workspace, InstallRequest(workspace), (), bundle=sources.bundle)
    items = [find_item(each, options, hub, here, progress) for each in sources.named]
    installed = workspace.installed
    present = [item for item in items if _is_present(item, installed, options)]
    version = workspace.python_version
    needs = _collect_requirements(items, version)
    unmet = unmet_requirements(needs.requirements, installed, version) if version else None
    own = {normalize_name(item.name) for item in items}
    missing = [r for r in needs.requirements if unmet is None or r in unmet]
    missing = [r for r in missing if normalize_name(r.name) not in own]
    beside = [] if options.bundled_only else list(_owned(missing, items, options, hub, progress))
    missing = _without(missing, beside)
    complete = unmet is not None and not missing and not beside
    todo = items if missing or beside else [item for item in items if item not in present]
    request = _request(workspace, [*todo, *beside], needs, options, complete=complete)
    plan = InstallPlan(
        workspace,
        request,
        (*items, *beside),
        present=tuple(item for item in present if item not in todo),
        requires_python=needs.requires_python,
        offline=options.offline,
    )
    if not workspace.exists or not todo or (complete and not show_changes):
        return plan
    with progress.task("Resolving packages", unit="packages"):
        changes = preview_changes(request, offline=options.offline)
    asked = own | {normalize_name(item.name) for item in beside}
    foreign = foreign_changes(changes, installed, asked, workspace, version)
    return replace(plan, changes=changes, foreign=foreign)


def run_install(plan: InstallPlan, progress: Progress) -> tuple[InstallItem, ...]:
    """Do what `plan` says, and record where each environment came from; returns what is new."""
    create_workspace(plan.workspace, plan.requires_python, progress, offline=plan.offline)
    todo = tuple(item for item in plan.items if item not in plan.present)
    if not todo:
        return ()
    names = ", ".join(item.name for item in todo)
    with progress.task(f"Installing {names}", unit="packages"):
        install(plan.request, offline=plan.offline)
    installed = plan.workspace.reread().installed
    note_brought(plan.workspace, plan.workspace.installed, installed)
    failures = _check_imports(plan, todo, progress)
    for item in todo:
        package = installed.get(normalize_name(item.name))
        if package is not None:
            origin = msgspec.structs.replace(item.origin, fails=failures.get(item.name))
            record_origin(package, origin)
    return todo


def _collect_requirements(items: Sequence[InstallItem], version: str) -> InstallRequirements:
    """Every item's requirements; what its source cannot run with is added as a limit."""
    needs, taken = InstallRequirements(), dict[str, str | None]()
    for item in items:
        facts = item.package.facts
        needs.pythons += [facts.requires_python] if facts.requires_python else []
        needs.requirements += wanted_requirements(facts.requires_dist, item.package.extras, version)
        if item.folder is None:  # uv itself reads the sources of a folder
            needs.sourced += source_requirements(facts.requires_dist, item.package.sources)
        if facts.exposes is not None:
            reading = read_requirements(item.package.path, facts)
            within = reading.span.specifier
            # Many environments forget to require what they import.
            needs.requirements.append(Requirement(LIBRARY))
            needs.limits.append(f"{LIBRARY}{within}")
            needs.limits += [each.requirement for each in reading.moved]
            taken[item.name] = _verifiers_of_run(item.package, within, item.lock)
    if len(set(taken.values())) == 1:
        needs.limits += [f"{LIBRARY}=={version}" for version in {*taken.values()} if version]
    return needs


def _verifiers_of_run(
    package: WheelPackage, within: SpecifierSet, hub_lock: Lock | None = None
) -> str | None:
    """The verifiers that a run of it would take: of its lock, else the newest at its publication.

    `within` are those that its source can run with. None if that takes a search.
    """
    lock = known_lock(prime_home(), package.sha256, hub_lock)
    if lock is not None:
        return lock.verifiers or None
    declared = declared_verifiers(package.facts)
    if package.published is None or (declared is not None and declared.url):
        return None
    within &= declared.specifier if declared is not None else SpecifierSet()
    release = newest_release(within=within, before=package.published)
    return str(release.version) if release is not None else None


def _check_imports(
    plan: InstallPlan, items: Sequence[InstallItem], progress: Progress
) -> Mapping[str, str]:
    """{name: why it does not import or load} in the workspace, each told; by a run's own test."""
    failures = {}
    for item in items:
        facts = item.package.facts
        if facts.module is None or facts.exposes is None:
            continue
        reading = read_requirements(item.package.path, facts)
        with progress.task(f"Importing {item.name}", unit="steps"):
            verdict = try_import(
                plan.workspace.python,
                facts.module,
                reading.names,
                moved=reading.moved,
                load=facts.name,
            )
        if verdict.accepted:
            continue
        failures[item.name] = verdict.reason(facts.module)
        progress.warn(
            f"{item.name} was installed, but does not run there: {failures[item.name]}",
            hint="`prime eval run` uses a separate interpreter then",
        )
    return failures


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
            yield fetched_item(fetched)


def _without(missing: Sequence[Requirement], beside: Sequence[InstallItem]) -> list[Requirement]:
    names = {normalize_name(item.name) for item in beside}
    return [r for r in missing if normalize_name(r.name) not in names]


def _request(
    workspace: Workspace,
    items: Sequence[InstallItem],
    needs: InstallRequirements,
    options: InstallOptions,
    *,
    complete: bool,
) -> InstallRequest:
    """A verifiers that is there already is left to its owner; a new one must fit the source."""
    installed = workspace.installed
    again = [item.name for item in items if normalize_name(item.name) in installed]
    limits = [] if LIBRARY in installed else list(needs.limits)
    limits += [s for s in needs.sourced if normalize_name(Requirement(s).name) not in installed]
    return InstallRequest(
        workspace,
        wheels=tuple(item.target for item in items if item.folder is None),
        editable=tuple(item.target for item in items if item.folder is not None),
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
