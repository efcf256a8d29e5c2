"""Every check, in the order of the report."""

from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.errors import BuildFailed, PrimeError
from prime_cli.envs.project.folder import Project, load_project
from prime_cli.envs.project.wheel_checks import caution_of_imports, check_wheel
from prime_cli.evals.env_check.behaviour import (
    check_agreement,
    check_ends,
    check_errors,
    check_range,
)
from prime_cli.evals.env_check.dataset import check_dataset, check_fingerprint
from prime_cli.evals.env_check.findings import failed, passed, skipped
from prime_cli.evals.env_check.network import Declaration, check_network
from prime_cli.evals.env_check.package import (
    check_build,
    check_dependencies,
    check_metadata,
    check_secrets,
)
from prime_cli.evals.env_check.probe_run import ProbeRun
from prime_cli.evals.env_check.scoring import POOR, check_gold, check_poor, sandbox_lacking
from prime_cli.evals.execution.setup import GATEWAY_KEYS
from prime_cli.evals.planning.locate import ResolvedEnvironment
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.wire.check_reports import Check

ORDER = (
    "build", "load", "metadata", "dependencies", "secrets",
    "examples", "prompts", "duplicates", "leaks", "data",
    "gold", *POOR, "range", "errors", "ends", "repeat", "network",
)  # fmt: skip
"""The ids of all checks."""

OF_ROLLOUTS = ("gold", *POOR, "range", "errors", "ends", "repeat", "network")
"""Those that need rollouts."""


def inspect_package(
    subject: ResolvedEnvironment, declared: tuple[str, ...], environ: Mapping[str, str]
) -> list[Check]:
    """The checks that run nothing; `declared` are the keys that the source names."""
    package = subject.package
    facts = package.facts
    return [
        _inspect_wheel(subject),
        check_metadata(facts, subject.pyproject),
        inspect_dependencies(subject),
        check_secrets(declared, environ, GATEWAY_KEYS),
    ]


def inspect_dependencies(subject: ResolvedEnvironment, release: str | None = None) -> Check:
    """`dependencies`, with advice for the `release` of verifiers that it has loaded with."""
    package = subject.package
    undeclared = caution_of_imports(package.path, package.facts)
    return check_dependencies(package.facts, undeclared, release)


def inspect_runs(first: ProbeRun, second: ProbeRun, declaration: Declaration) -> list[Check]:
    """The checks of two runs with the same answers."""
    surveyed = check_dataset(first.survey) if first.survey else []
    of_data = [*surveyed, check_fingerprint(first, second)]
    if why := sandbox_lacking(first):
        return [*of_data, *without_sandbox(why)]
    return [
        *of_data,
        check_gold(first),
        *(check_poor(name, first) for name in POOR),
        check_range(first),
        check_errors(first),
        check_ends(first),
        check_agreement(first, second),
        check_network((first, second), declaration),
    ]


def without_sandbox(why: str) -> list[Check]:
    """The checks of rollouts where these had no sandbox, for which no environment is blamed."""
    sentence = f"Not checked, as rollouts need a sandbox: {why}"
    return [skipped(name, sentence) for name in OF_ROLLOUTS]


def loaded(interpreter: Interpreter, run: ProbeRun) -> Check:
    """`load`: it loads in a fresh interpreter."""
    seconds = run.start.load_s if run.start else 0.0
    return passed(
        "load",
        f"It loads in {seconds:.1f} s under Python {interpreter.python_version} with verifiers "
        f"{interpreter.verifiers}, in an interpreter made anew",
        seconds=seconds,
        found_by=interpreter.found_by,
    )


def _inspect_wheel(subject: ResolvedEnvironment) -> Check:
    package = subject.package
    try:
        cautions = check_wheel(package.facts, _project(subject))
    except BuildFailed as error:
        return failed("build", error.message, error.hint or "correct its pyproject.toml")
    return check_build(package.facts, package.sha256, package.path.stat().st_size, cautions)


def _project(subject: ResolvedEnvironment) -> Project | None:
    path = subject.environment.path
    if path is None or not Path(path).is_dir():
        return None
    try:
        return load_project(Path(path))
    except PrimeError:  # it was there a moment ago, when it was built
        return None
