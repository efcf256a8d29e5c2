"""Ask uv which packages an environment needs, without installing anything."""

import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from prime_cli.core.errors import UsageError
from prime_cli.core.process import Completed
from prime_cli.core.progress import Task
from prime_cli.core.refs import add_extras
from prime_cli.runtime.locks import read_requirements_file
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.pythons import Python
from prime_cli.runtime.sources import source_requirements
from prime_cli.runtime.uv_tool import network_failure, reason_of_failure, run_uv
from prime_cli.runtime.verifiers_releases import LIBRARY
from prime_cli.runtime.verifiers_usage import declared_verifiers
from prime_cli.wire.locks import LockedPackage

_WANTS_PRERELEASE = re.compile(
    r"pre-?releases? (weren't|were not|are not|aren't) enabled|prerelease"
)
_PYTHON_IN_THE_WAY = re.compile(
    r"does not satisfy Python|requires Python|matching Python (ABI|version)|"
    r"Python ABI tag|requires-python",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ResolutionRequest:
    """What to resolve: a wheel, for one Python, with some verifiers, as of some time.

    `verifiers` is a PEP 440 specifier added to what the package declares; with `override` it
    replaces that. `beside` are wheels of packages that no index has. Without `build` no package is
    built from source, which would run its code. `without_verifiers` asks about everything else.
    `pins` hold packages at versions, if they are needed at all; so does `held`, which with
    `override` replaces what others require of them.
    `requirements` are asked for besides.
    """

    package: WheelPackage
    python: Python
    verifiers: str = ""
    override: bool = False
    as_of: datetime | None = None
    beside: tuple[WheelPackage, ...] = ()
    build: bool = True
    without_verifiers: bool = False
    requirements: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resolution:
    """uv's result.

    If no result holds for all platforms, every package is marked with this one's.
    """

    packages: tuple[LockedPackage, ...]

    @property
    def verifiers(self) -> str | None:
        """The version of verifiers, None if it comes by URL."""
        return next((p.version for p in self.packages if p.name == LIBRARY), None) or None


@dataclass(frozen=True)
class Unresolvable:
    """No set of packages fits.

    `said` are uv's last lines, `reason` is their sentence; `python`: another one might fit.
    """

    said: str
    python: bool = False
    reason: str = ""


def resolve(
    question: ResolutionRequest, *, offline: bool, task: Task | None = None
) -> Resolution | Unresolvable:
    """Resolve for all platforms, or only for this one if need be; `task` shows for how long.

    Raises Unreachable or Offline if uv could not reach its index.
    """
    with tempfile.TemporaryDirectory(prefix="prime-resolve-") as name:
        folder = Path(name)
        words = _words(question, folder)
        everywhere = False
        if not question.without_verifiers:
            completed = _ask([*words, "--universal"], folder, task, offline=offline)
            everywhere = completed.ok
        if not everywhere:
            completed = _ask(words, folder, task, offline=offline)
        if not completed.ok and _WANTS_PRERELEASE.search(completed.err):
            completed = _ask([*words, "--prerelease", "allow"], folder, task, offline=offline)
    if not completed.ok:
        other_python = bool(_PYTHON_IN_THE_WAY.search(completed.err))
        return Unresolvable(completed.last_lines(), other_python, reason_of_failure(completed))
    own = [question.package.facts.name, *(wheel.facts.name for wheel in question.beside)]
    packages = read_requirements_file(completed.out, without=own)
    return Resolution(
        _with_indexes(packages if everywhere else _for_this_system(packages), question)
    )


def verifiers_specifier(text: str) -> str:
    """`--verifiers` as a specifier: `0.1.14` means exactly that; raises UsageError."""
    plain = text.strip().removeprefix(LIBRARY).strip()
    try:
        return str(SpecifierSet(plain if plain[:1] in "<>=!~" else f"=={plain}"))
    except ValueError as error:
        raise UsageError(
            f"`{text}` is not a version of verifiers",
            hint="write `--verifiers 0.1.14` or `--verifiers '>=0.3,<0.4'`",
        ) from error


def _words(question: ResolutionRequest, folder: Path) -> list[str]:
    wheels = (question.package, *question.beside)
    lines = [_direct_reference(wheel) for wheel in wheels]
    lines += [*_sourced(question), *question.requirements]
    declared = declared_verifiers(question.package.facts)
    extras = f"[{','.join(sorted(declared.extras))}]" if declared and declared.extras else ""
    by_url = declared is not None and declared.url is not None
    if not by_url or question.override:
        lines.append(f"{LIBRARY}{extras}{question.verifiers}")
    constraints, overrides = question.pins, list[str]()
    if question.override:
        overrides = [f"{LIBRARY}{extras}{question.verifiers}", *question.held]
    elif not question.without_verifiers:
        constraints += question.held
    if question.without_verifiers:
        overrides = [f"{LIBRARY} ; python_version < '3'"]
    words = ["pip", "compile", _listed(folder / "needs.in", lines)]
    words += ["--python", str(question.python.path), "--quiet"]
    words += ["--generate-hashes", "--no-header", "--no-annotate"]
    if not question.build:
        words.append("--no-build")
    if question.as_of is not None:
        words += ["--exclude-newer", question.as_of.astimezone(UTC).isoformat()]
    if constraints:
        words += ["--constraint", _listed(folder / "constraints.txt", constraints)]
    if overrides:
        words += ["--override", _listed(folder / "override.txt", overrides)]
    return words


def _listed(file: Path, lines: Iterable[str]) -> str:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return str(file)


def _direct_reference(wheel: WheelPackage) -> str:
    return f"{add_extras(wheel.facts.name, wheel.extras)} @ {wheel.path.absolute().as_uri()}"


def _ask(words: Sequence[str], folder: Path, task: Task | None, *, offline: bool) -> Completed:
    completed = run_uv(words, offline=offline, cwd=folder, task=task)
    failure = None if completed.ok else network_failure(completed, offline=offline)
    if failure is not None:
        raise failure
    return completed


def _sourced(question: ResolutionRequest) -> list[str]:
    """The direct references in the project's own sources, which uv applies to every dependent."""
    package = question.package
    sources = (s for s in package.sources if not (question.override and s.name == LIBRARY))
    return list(source_requirements(package.facts.requires_dist, tuple(sources)))


def _with_indexes(
    packages: Sequence[LockedPackage], question: ResolutionRequest
) -> tuple[LockedPackage, ...]:
    indexes = {source.name: source.index for source in question.package.sources}
    return tuple(replace(p, index=None if p.source else indexes.get(p.name)) for p in packages)


def _for_this_system(packages: Sequence[LockedPackage]) -> tuple[LockedPackage, ...]:
    return tuple(replace(p, marker=f"sys_platform == '{sys.platform}'") for p in packages)
