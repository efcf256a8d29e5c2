"""Every check, in the order of the report, and those of how rollouts behave."""

from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.errors import BuildFailed, PrimeError
from prime_cli.core.formatting import format_interval, format_number
from prime_cli.envs.project.folder import Project, load_project
from prime_cli.envs.project.wheel_checks import caution_of_imports, check_wheel
from prime_cli.evals.env_check.dataset import check_dataset, check_fingerprint
from prime_cli.evals.env_check.findings import failed, named, passed, skipped, warned
from prime_cli.evals.env_check.network import Declaration, check_network
from prime_cli.evals.env_check.package import (
    check_build,
    check_dependencies,
    check_metadata,
    check_secrets,
)
from prime_cli.evals.env_check.probe_run import ProbeRun
from prime_cli.evals.env_check.scoring import (
    EPSILON,
    POOR,
    asks_judge,
    check_gold,
    check_poor,
    golden_examples,
    golden_form,
    is_not_a_number,
    never_ends,
    of_interest,
    raised,
    sandbox_lacking,
    scale_of,
)
from prime_cli.evals.execution.setup import GATEWAY_KEYS
from prime_cli.evals.planning.locate import ResolvedEnvironment
from prime_cli.models.gateway.oracle import MOST_TURNS, OracleProbe
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.protocol import Rollout
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


Rows = dict[tuple[int, OracleProbe], Rollout]


def check_range(run: ProbeRun) -> Check:
    """`range`: every reward is a number, and within what its weights allow."""
    rows = _rows(run)
    broken = [key[0] for key, row in rows.items() if is_not_a_number(row)]
    if broken:
        words = f"The reward is not finite on {named(broken)}"
        return failed("range", words, "check for a division by zero", examples=broken)
    rewards = {key: row.reward for key, row in rows.items() if row.reward is not None}
    if not rewards:
        return skipped("range", "There are no rewards to check")
    scale = scale_of(run)
    if scale.relative:
        return passed("range", "Rewards are relative to a group, and finite")
    low, high = min(rewards.values()), max(rewards.values())
    outside = [
        key[0]
        for key, reward in rewards.items()
        if not scale.low - EPSILON <= reward <= scale.high + EPSILON
    ]
    evidence = {"lowest": low, "highest": high, "range": [scale.low, scale.high]}
    spread = format_interval((low, high)) if high > low else format_number(low)
    words = f"Rewards are {spread}"
    if outside:
        source = "its weights allow" if scale.known else "is usual"
        words = f"{words}, outside the {scale} that {source}, on {named(outside)}"
        step = "keep each reward function between 0 and 1, and scale it by its weight"
        return warned("range", words, step, examples=outside, **evidence)
    full = words.endswith(f" {scale}")
    return passed("range", words if full else f"{words}, within {scale}", **evidence)


def check_errors(run: ProbeRun) -> Check:
    """`errors`: the environment's own code never raises, for good or poor answers."""
    rows = {key: row for key, row in _rows(run).items() if raised(row)}
    if not rows:
        if any(map(asks_judge, run.rows.values())):
            return skipped("errors", "Not all checked: rewards need another model (`--judges`)")
        return passed("errors", "Its code raised no errors")
    first = next(row.error for row in rows.values() if row.error is not None)
    examples = [example for example, _ in rows]
    words = (
        f"Its code raised in {len(rows):,} of {len(_rows(run)):,} rollouts, {named(examples)}: "
        f"{first.type}: {first.message}"
    )
    evidence = {"count": len(rows), "examples": examples, "probes": _probes(rows)}
    step = "models can answer anything: handle such answers"
    if golden_form(run) in {probe for _, probe in rows}:
        return failed("errors", words, step, **evidence)
    return warned("errors", words, step, **evidence)


def check_ends(run: ProbeRun) -> Check:
    """`ends`: a conversation ends, whatever the model says."""
    rows = {key: row for key, row in _rows(run).items() if never_ends(row)}
    if not rows:
        return passed("ends", "Every conversation ended")
    words = (
        f"{len(rows):,} rollouts did not end within {MOST_TURNS} answers or the time for one "
        f"(`--timeout`): {', '.join(_probes(rows))}"
    )
    step = "set `max_turns`, or add a stop condition"
    evidence = {"count": len(rows), "examples": [example for example, _ in rows]}
    if golden_form(run) in {probe for _, probe in rows}:
        return failed("ends", words, step, **evidence)
    return warned("ends", words, step, **evidence)


def check_agreement(first: ProbeRun, second: ProbeRun) -> Check:
    """`repeat`: the same answers get the same rewards in another process."""
    mine, other = _rows(first), second.rows
    pairs = [(key, mine[key].reward, other[key].reward) for key in mine if key in other]
    if not any(reward is not None for _, reward, _ in pairs):
        return skipped("repeat", "There are no rewards to compare")
    torn = [key[0] for key, reward, again in pairs if not _same(reward, again)]
    if torn:
        example, reward, again = next(
            (key[0], one, two) for key, one, two in pairs if not _same(one, two)
        )
        return failed(
            "repeat",
            f"The same answers got different rewards the second time on {named(torn)}: "
            f"{_shown(reward)} and {_shown(again)} on example {example}",
            "rewards must not depend on chance, the clock or other rollouts",
            examples=torn,
            compared=len(pairs),
        )
    return passed(
        "repeat", f"{len(pairs):,} rewards were the same in two processes", compared=len(pairs)
    )


def _rows(run: ProbeRun) -> Rows:
    """The rollouts that count: gold ones only if there is a gold answer."""
    kept, golden, form = set(of_interest(run)), set(golden_examples(run)), golden_form(run)
    return {
        key: row
        for key, row in sorted(run.rows.items())
        if key[1] in kept and (key[1] is not form or key[0] in golden)
    }


def _probes(rows: Rows) -> list[str]:
    return sorted({probe.name.lower() for _, probe in rows})


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= EPSILON


def _shown(reward: float | None) -> str:
    return format_number(reward, "an error")
