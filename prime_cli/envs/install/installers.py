"""Install into a workspace, and uninstall from it, with `uv` or `pip`.

prime moves its own packages, and asks about everybody else's: what came with an installation by
prime is noted in the virtual environment, and what came along with prime itself is what its
requirements and complete extras name.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec
from packaging.requirements import Requirement

from prime_cli.core.errors import NotFound, PrimeError, ResolveFailed
from prime_cli.core.installation import DISTRIBUTION
from prime_cli.core.paths import write_atomically
from prime_cli.core.process import Completed, child_environment, run
from prime_cli.core.refs import EnvRef, is_reference, normalize_name
from prime_cli.envs.install.installed import (
    InstalledPackage,
    applies,
    marker_environment,
    unmet_requirements,
)
from prime_cli.envs.install.workspace import Workspace
from prime_cli.runtime.uv_tool import network_failure, run_uv

_MOVE = re.compile(r"^\s*([+~-]) ([A-Za-z0-9._-]+)(?:==(\S+)| @ (\S+))?", re.MULTILINE)
_NO_PIP = "No module named pip"
_NOTE = "prime-packages.json"
"""{name: version} of what prime brought, in the folder of the virtual environment."""

_PLAIN_EXTRA = "verifiers"
"""An extra that names one package: to ask for it is to ask for that package."""


class Installer(StrEnum):
    """Who installs."""

    UV = "uv"
    PIP = "pip"


@dataclass(frozen=True)
class PackageChange:
    """A package that an installation changes: `before` or `after` is None if absent."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class InstallRequest:
    """One installation: wheels and editable folders, perhaps with extras, into a workspace.

    `complete` means that nothing else is needed, so that no index has to be asked; `again` are
    packages to be installed even if their version is there; `limits` are requirements that hold
    packages back, such as `verifiers<=0.3.1`; `find_links` are folders of wheels, and with
    `no_index` they stand for all indexes.
    """

    workspace: Workspace
    wheels: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    complete: bool = False
    prerelease: bool = False
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    tool: Installer = Installer.UV


def install(request: InstallRequest, *, offline: bool) -> None:
    """Install; raises ResolveFailed with the installer's last lines, Unreachable or Offline."""
    completed = _run(request, [], offline=offline)
    if not completed.ok:
        raise _failure(completed, request, offline=offline)


def preview_changes(request: InstallRequest, *, offline: bool) -> tuple[PackageChange, ...]:
    """What `install` would change; pip only tells what it would add."""
    completed = _run(request, ["--dry-run"], offline=offline)
    if not completed.ok:
        raise _failure(completed, request, offline=offline)
    if request.tool is Installer.PIP:
        return _read_pip(completed.out)
    return parse_changes(completed.err)


def uninstall_packages(
    workspace: Workspace, names: Sequence[str], tool: Installer = Installer.UV
) -> None:
    """Remove packages by name; raises ResolveFailed."""
    if tool is Installer.PIP:
        completed = _run_pip(workspace, ["uninstall", "--quiet", "--yes", *names])
    else:
        words = ["pip", "uninstall", "--quiet", "--python", str(workspace.python), *names]
        completed = run_uv(words, offline=True)
    if not completed.ok:
        raise _no_pip(completed) or ResolveFailed(
            f"{tool} could not uninstall",
            hint="fix the cause above, then run the same command again",
            detail=completed.last_lines(),
        )


def parse_changes(text: str) -> tuple[PackageChange, ...]:
    """The lines ` + name==1.0` and ` - name==0.9` that uv writes, put together by name."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for sign, name, version, url in _MOVE.findall(text):
        side = before if sign == "-" else after
        side[normalize_name(name)] = version or url
    return tuple(
        PackageChange(name, before.get(name), after.get(name)) for name in sorted({*before, *after})
    )


def _run(request: InstallRequest, flags: Sequence[str], *, offline: bool) -> Completed:
    targets = [*request.wheels, *request.limits]
    for folder in request.editable:
        targets += ["--editable", folder]
    if request.tool is Installer.PIP:
        pre = ["--pre"] if request.prerelease else []
        words = ["install", *(flags or ["--quiet"]), *pre, *_places(request)]
        if request.complete:
            words += ["--no-deps", "--no-index"]
        again = ["--force-reinstall", "--no-deps"] if request.again and request.complete else []
        return _run_pip(request.workspace, [*words, *again, *targets])
    return run_uv(
        [
            "pip",
            "install",
            "--python",
            request.workspace.python,
            *_uv_words(request),
            *flags,
            *targets,
        ],
        offline=offline or request.complete,
    )


def _run_pip(workspace: Workspace, words: Sequence[str]) -> Completed:
    env = child_environment(installs=True)
    return run([workspace.python, "-m", "pip", *words], env=env)


def _uv_words(request: InstallRequest) -> list[str]:
    words = ["--no-deps"] if request.complete else []
    for name in request.again:
        words += ["--reinstall-package", name]
    words += _places(request)
    if request.prerelease:
        words += ["--prerelease", "allow"]
    return words


def _places(request: InstallRequest) -> list[str]:
    """Where packages are taken from, in the words of both uv and pip."""
    links = [word for folder in request.find_links for word in ("--find-links", folder)]
    return ["--no-index", *links] if request.no_index else links


def _read_pip(text: str) -> tuple[PackageChange, ...]:
    found = re.search(r"^Would install (.+)$", text, re.MULTILINE)
    pairs = [word.rpartition("-") for word in found[1].split()] if found else []
    return tuple(PackageChange(normalize_name(name), None, version) for name, _, version in pairs)


def _failure(completed: Completed, request: InstallRequest, *, offline: bool) -> PrimeError:
    return (
        _no_pip(completed)
        or network_failure(completed, offline=offline)
        or ResolveFailed(
            f"{request.tool} could not install into "
            f"{request.workspace.folder or request.workspace.python}",
            hint="see the cause above; `prime eval run` needs no installation",
            detail=completed.last_lines(),
        )
    )


def _no_pip(completed: Completed) -> ResolveFailed | None:
    if _NO_PIP not in completed.err:
        return None
    return ResolveFailed(
        "The workspace has no pip", hint="omit `--with pip`, or install pip there first"
    )


def plan_uninstall(words: Sequence[str], workspace: Workspace) -> tuple[InstalledPackage, ...]:
    """The installed packages that names or refs (`owner/name`) mean; raises NotFound."""
    installed = workspace.reread().installed
    return tuple(_find(word, installed, workspace) for word in words)


def run_uninstall(
    packages: Sequence[InstalledPackage], workspace: Workspace, tool: Installer = Installer.UV
) -> None:
    """Remove the packages; what they required stays. Raises ResolveFailed."""
    uninstall_packages(workspace, [package.name for package in packages], tool)


def _find(
    word: str, installed: dict[str, InstalledPackage], workspace: Workspace
) -> InstalledPackage:
    name = EnvRef.parse(word).name if is_reference(word) else word.partition("@")[0]
    found = installed.get(normalize_name(name))
    if found is None and is_reference(word):
        slug = EnvRef.parse(word).slug
        found = next((p for p in installed.values() if _came_from(p, slug)), None)
    if found is None:
        raise NotFound(
            f"`{word}` is not installed in {workspace.folder or workspace.python}",
            hint="list what is with `prime env list --installed`",
        )
    return found


def _came_from(package: InstalledPackage, slug: str) -> bool:
    origin = package.origin
    return origin is not None and origin.ref is not None and EnvRef.parse(origin.ref).slug == slug


def note_brought(
    workspace: Workspace,
    before: Mapping[str, InstalledPackage],
    after: Mapping[str, InstalledPackage],
) -> None:
    """Note what an installation added or moved; raises StorageFailed."""
    if workspace.folder is None:
        return
    kept = {name: version for name, version in _noted(workspace).items() if name in after}
    new = {
        name: package.version
        for name, package in after.items()
        if name not in before or before[name].version != package.version
    }
    if new:
        note = msgspec.json.encode({**kept, **new}, order="sorted")
        write_atomically(workspace.folder / _NOTE, note, mode=0o644)


def foreign_changes(
    changes: Sequence[PackageChange],
    installed: Mapping[str, InstalledPackage],
    named: Collection[str],
    workspace: Workspace,
    version: str,
) -> tuple[PackageChange, ...]:
    """The `changes` to confirm: other versions of packages that prime did not bring.

    Also of packages that prime brought, if another installed package rules the new version out.
    `named` are the packages that the user asked for; `version` is that of the workspace's Python.
    """
    moved = [c for c in changes if c.before and c.before != c.after and c.name not in named]
    if not moved:
        return ()
    ours = brought_by_prime(installed, workspace, version)
    leaving = {*named, *(change.name for change in changes)}
    staying = [package for name, package in installed.items() if name not in leaving]
    environment = marker_environment(version)
    return tuple(c for c in moved if c.name not in ours or _breaks(c, staying, environment))


def brought_by_prime(
    installed: Mapping[str, InstalledPackage], workspace: Workspace, version: str
) -> frozenset[str]:
    """The names of packages that prime brought: with an environment, or along with itself."""
    noted = _noted(workspace)
    own = {name for name, package in installed.items() if noted.get(name) == package.version}
    return frozenset(own | set(_came_with_prime(installed, version)) - {DISTRIBUTION})


def _noted(workspace: Workspace) -> dict[str, str]:
    try:
        content = (workspace.folder or Path()).joinpath(_NOTE).read_bytes()
        return msgspec.json.decode(content, type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def _came_with_prime(installed: Mapping[str, InstalledPackage], version: str) -> Iterator[str]:
    """What prime and its complete extras require, and what that requires in turn."""
    prime = installed.get(DISTRIBUTION)
    if prime is None:
        return
    extras = [each for each in prime.headers("Provides-Extra") if each != _PLAIN_EXTRA]
    asked = {each: [Requirement(f"{DISTRIBUTION}[{each}]")] for each in extras}
    complete = [e for e in extras if not unmet_requirements(asked[e], dict(installed), version)]
    environment = marker_environment(version)
    seen: set[tuple[str, str]] = set()
    waiting = [(DISTRIBUTION, extra) for extra in ("", *complete)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name not in installed:
            continue
        seen.add((name, extra))
        yield name
        for each in _requirements(installed[name], environment, extra):
            waiting += [(normalize_name(each.name), wanted) for wanted in ("", *each.extras)]


def _requirements(
    package: InstalledPackage, environment: dict[str, str], extra: str = ""
) -> Iterator[Requirement]:
    return (each for each in package.requires if applies(each.marker, environment, extra))


def _breaks(
    change: PackageChange, staying: Sequence[InstalledPackage], environment: dict[str, str]
) -> bool:
    """Whether a package of `staying` rules out the new version."""
    return any(
        change.after is None or not each.specifier.contains(change.after, prereleases=True)
        for package in staying
        for each in _requirements(package, environment)
        if normalize_name(each.name) == change.name
    )
