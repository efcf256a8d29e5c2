"""Find the environment that a command names: the wheel of a folder, a file or a hub."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prime_cli.core.archive.wheels import open_wheel
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef
from prime_cli.envs.bundled import bundled_project
from prime_cli.envs.fetch import fetch_wheel
from prime_cli.envs.install.dependencies import fetch_dependencies
from prime_cli.envs.install.installed import parse_requirements
from prime_cli.envs.local_store import WheelStore
from prime_cli.envs.lockfile.file import locked_ref
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project.build import build_into_store
from prime_cli.envs.project.folder import (
    Project,
    choose_local,
    load_project,
    split_extras_here,
)
from prime_cli.envs.project.pyproject import FILENAME
from prime_cli.envs.project.wheel_checks import refuse_left_out
from prime_cli.envs.trust import TrustPolicy
from prime_cli.runs.plan import RunEnvironment
from prime_cli.runtime.packages import WheelPackage, import_name, read_package, with_extras
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.locks import Lock

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient


@dataclass(frozen=True)
class LookupContext:
    """Where environments are searched: `cwd`, then the hub that `hub` opens when needed.

    `owner` is the local publisher on the built-in hub; `trust` asks about unknown owners.
    `env_vars` are the variables that environments may always read, by `owner/name`.
    """

    cwd: Path
    hub: "Callable[[], HubClient]"
    offline: bool = False
    owner: str | None = None
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    env_vars: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


EnvironmentLocation = Path | EnvRef
"""A project folder or a wheel on this disk, or an environment of the hub."""


def locate(
    text: str,
    lookup: LookupContext,
    progress: Progress,
    *,
    hub_only: bool = False,
    obey_lock: bool = True,
) -> EnvironmentLocation:
    """Resolve `text`: on this disk, among verifiers' own, in prime.lock, or on the hub.

    The first that has it is chosen, which is reported. Fetches nothing. Without `obey_lock` it
    ignores the workspace's prime.lock, which applies to names without a version. Raises NotFound,
    BadReference, or UsageError if several owners have the name or the lock cannot be read.
    """
    plain, _ = split_extras_here(text, lookup.cwd)
    local = None if hub_only else choose_local(plain, lookup.cwd, progress)
    if local is not None:
        return local
    bundled = None if hub_only else bundled_project(plain, prime_home())
    if bundled is not None:
        progress.say(f"`{plain}` is verifiers' own taskset; one on a hub is OWNER/{plain}")
        return bundled
    locked = locked_ref(text, lookup.cwd) if obey_lock else None
    if locked is not None:
        progress.say(f"`{text}` is {locked}, from prime.lock; use `@latest` for the newest")
        return locked
    return resolve_name(lookup.hub(), text, progress=progress)


def at_version_of(located: EnvironmentLocation, environment: RunEnvironment) -> EnvironmentLocation:
    """The run's version of a hub's environment that was named without one."""
    if not isinstance(located, EnvRef) or located.version or environment.ref is None:
        return located
    before = EnvRef.parse(environment.ref)
    return replace(before, extras=located.extras) if located.is_same(before) else located


_LARGEST = 1_000_000
"""The largest pyproject.toml that is read from a wheel, in bytes."""


@dataclass(frozen=True)
class EvalDefaults:
    """The defaults in `[tool.verifiers.eval]`; `num_examples` -1 means all."""

    num_examples: int | None = None
    rollouts_per_example: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None


def defaults_from(table: Mapping[str, Any]) -> EvalDefaults:
    """EvalDefaults of a `[tool.verifiers.eval]` table; values of the wrong type are ignored."""
    return EvalDefaults(
        num_examples=_whole(table.get("num_examples")),
        rollouts_per_example=_whole(table.get("rollouts_per_example")),
        max_tokens=_whole(table.get("max_tokens")),
        temperature=_number(table.get("temperature")),
    )


def defaults_in(pyproject: str) -> EvalDefaults:
    """The defaults in the text of a pyproject.toml; none if it is not TOML."""
    return defaults_from(_eval_table(pyproject))


def defaults_in_wheel(wheel: Path, module: str) -> EvalDefaults:
    """The defaults in a wheel's pyproject.toml, found like verifiers 0.1.14 does.

    That is in the package's own folder, else in the root of site-packages.
    """
    with open_wheel(wheel) as opened:
        for name in (f"{module}/{FILENAME}", FILENAME):
            info = opened.members.get(name)
            if info is not None and info.file_size <= _LARGEST:
                return defaults_in((opened.read(name) or b"").decode("utf-8", errors="replace"))
    return EvalDefaults()


def _eval_table(text: str) -> Mapping[str, Any]:
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    for key in ("tool", "verifiers", "eval"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class ResolvedEnvironment:
    """An environment on this disk, ready to run; `lock` and `report` are its hub's.

    `beside` fetches the environments of the same owner that this one requires. `pyproject` is the
    parsed file of its sources, empty without one.
    """

    environment: RunEnvironment
    package: WheelPackage
    defaults: EvalDefaults
    lock: Lock | None = None
    beside: Callable[[], Sequence[WheelPackage]] = tuple
    pyproject: Mapping[str, Any] = field(default_factory=dict)
    report: CheckSummary | None = None


def obtain_environment(
    located: EnvironmentLocation,
    lookup: LookupContext,
    progress: Progress,
    *,
    extras: Sequence[str] = (),
) -> ResolvedEnvironment:
    """Fetch the wheel of a hub's environment, or build that of a project, to be run with `extras`.

    Raises what building or fetching raises; LoadFailed for a wheel that holds no module, UsageError
    for an extra that it does not have.
    """
    owner = lookup.owner
    if isinstance(located, EnvRef):
        subject, owner = _from_hub(located, lookup, progress), located.owner
    elif located.suffix == ".whl":
        subject = _from_wheel(located)
    else:
        subject = _from_folder(located, progress, offline=lookup.offline)
    subject = _with_extras(subject, extras)
    return replace(subject, beside=lambda: _beside(subject, owner, lookup, progress))


def _with_extras(subject: ResolvedEnvironment, extras: Sequence[str]) -> ResolvedEnvironment:
    """With these beside those of its reference, which fetching has looked at."""
    wanted = tuple(sorted({*subject.package.extras, *extras}))
    if not wanted:
        return subject
    return replace(
        subject,
        package=with_extras(subject.package, wanted),
        environment=msgspec.structs.replace(subject.environment, extras=wanted),
    )


def cached_environment(
    environment: RunEnvironment, lookup: LookupContext, progress: Progress
) -> ResolvedEnvironment | None:
    """The wheel of `environment`, if exactly this file is still on this disk.

    It may have been fetched only for reading, so its owner still needs trust; raises NotTrusted.
    """
    wheel = WheelStore(prime_home()).find_any(environment.sha256)
    if wheel is None:
        return None
    owner = lookup.owner
    if environment.ref:
        ref = EnvRef.parse(environment.ref)
        owner = ref.owner
        lookup.trust.require_trusted(lookup.hub().of(owner), ref, environment.sha256)
    subject = replace(_subject(read_package(wheel)), environment=environment)
    return replace(subject, beside=lambda: _beside(subject, owner, lookup, progress))


def _beside(
    subject: ResolvedEnvironment, owner: str | None, lookup: LookupContext, progress: Progress
) -> list[WheelPackage]:
    # What is only here may need what its author published on the hub in the box; a hub elsewhere
    # is not asked for packages of an environment that it does not have.
    if owner is None or not (subject.environment.ref or lookup.hub().in_process):
        return []
    requirements = parse_requirements(subject.package.facts.requires_dist)
    found = fetch_dependencies(
        owner,
        requirements,
        hub=lookup.hub,
        progress=progress,
        offline=lookup.offline,
        trust=lookup.trust,
        wheels=(subject.package.sha256,),
    )
    return [fetched.package for fetched in found]


def _from_hub(ref: EnvRef, lookup: LookupContext, progress: Progress) -> ResolvedEnvironment:
    fetched = fetch_wheel(
        lookup.hub(), ref, progress=progress, offline=lookup.offline, trust=lookup.trust
    )
    defaults = None if fetched.pyproject is None else defaults_in(fetched.pyproject)
    subject = _subject(fetched.package, ref=fetched.ref, lock=fetched.lock, defaults=defaults)
    pyproject = _parsed(fetched.pyproject or "")
    return replace(subject, pyproject=pyproject, report=fetched.detail.check_summary)


def _parsed(pyproject: str) -> dict[str, Any]:
    # Somebody else's file: one that is no TOML says nothing.
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(pyproject)
    return {}


def _from_wheel(path: Path) -> ResolvedEnvironment:
    return _subject(read_package(path), path=path)


def _from_folder(folder: Path, progress: Progress, *, offline: bool) -> ResolvedEnvironment:
    project = load_project(folder)
    return environment_of_wheel(
        build_into_store(project, prime_home(), progress, offline=offline), project
    )


def environment_of_wheel(wheel: Path, project: Project) -> ResolvedEnvironment:
    """The environment of a project's built wheel; raises LoadFailed, BuildFailed."""
    defaults = defaults_from(project.eval_defaults)
    package = replace(read_package(wheel), sources=project.uv_sources, folder=project.root)
    refuse_left_out(wheel, package.facts, project)
    subject = _subject(package, path=project.root, defaults=defaults)
    return replace(subject, pyproject=project.pyproject)


def _subject(
    package: WheelPackage,
    *,
    ref: EnvRef | None = None,
    path: Path | None = None,
    lock: Lock | None = None,
    defaults: EvalDefaults | None = None,
) -> ResolvedEnvironment:
    facts = package.facts
    module = import_name(facts)
    environment = RunEnvironment(
        name=facts.name,
        version=facts.version,
        module=module,
        sha256=package.sha256,
        ref=str(ref) if ref else None,
        path=str(path) if path else None,
    )
    return ResolvedEnvironment(
        environment, package, defaults or defaults_in_wheel(package.path, module), lock
    )
