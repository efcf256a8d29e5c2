"""Migrate a v0 project, and compare what both forms give for the same answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prime_cli.core.builtin_models import VERDICTS
from prime_cli.envs.migration.source import Remark
from prime_cli.envs.migration.v0_judge import V0Judge, sees_question
from prime_cli.envs.migration.v1_project import plan_migration, read_project
from prime_cli.envs.project.folder import Project
from prime_cli.envs.project.scaffold import write_scaffold
from prime_cli.evals.env_check import check
from prime_cli.evals.env_check.probe_run import ProbeRun, run_probes
from prime_cli.evals.execution.setup import RunContext
from prime_cli.evals.planning.locate import LookupContext, obtain_environment
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.builtin import content_text
from prime_cli.models.gateway.oracle import OracleProbe
from prime_cli.runtime.protocol import Rollout

_EPSILON = 1e-9


@dataclass(frozen=True)
class ComparedAnswer:
    """What the two forms gave for one answer to one example.

    A reward is None where there is none. `differing` are the names of functions whose values
    differ, `prompt` and `reward` among them. `is_scored` is False where v0 ended the rollout before
    it was scored, as some releases do for an empty answer: nothing is compared then but prompts.
    """

    example: int
    answer: str
    v0: float | None
    v1: float | None
    differing: tuple[str, ...] = ()
    error: str = ""
    is_scored: bool = True


@dataclass(frozen=True)
class MigrationOutcome:
    """Where a v1 form is, what it lacks, and how it compares; `releases` are those of verifiers."""

    path: str
    left_out: tuple[Remark, ...]
    compared: tuple[ComparedAnswer, ...]
    releases: tuple[str, str]

    @property
    def tells_apart(self) -> bool:
        """Whether the answers got more than one reward, so that being equal says something."""
        return len({each.v0 for each in self.compared if each.is_scored}) > 1


def migrate_project(
    project: Project,
    root: Path,
    options: check.CheckOptions,
    lookup: LookupContext,
    context: RunContext,
) -> MigrationOutcome:
    """Write the v1 form of `project` to `root`, over what is there, and run both forms.

    Raises CannotMigrate before anything is written, and what building and loading raise.
    """
    environment = read_project(project)
    if environment.judge is not None:
        context.progress.say(_of_judge(environment.judge))
    old, first = _probe(project.root, options, lookup, context)
    if environment.judge is not None:
        told = sees_question(old)
        environment.judge = replace(environment.judge, sees_question=told)
    weights = (first.start and first.start.weights) or {}
    write_scaffold(plan_migration(project, environment, weights, root), force=True)
    new, second = _probe(root, check.CheckOptions(options.examples), lookup, context)
    compared = compare_runs(first, second, [each.name for each in environment.rewards])
    return MigrationOutcome(str(root), tuple(environment.left_out), compared, (old, new))


def _of_judge(judge: V0Judge) -> str:
    if judge.address is not None:
        return f"Its judge is at {judge.address}: rewards that it does not give are not compared"
    return "Its judge is not asked: both forms get the same made-up verdicts"


def _probe(
    folder: Path, options: check.CheckOptions, lookup: LookupContext, context: RunContext
) -> tuple[str, ProbeRun]:
    """(its release of verifiers, the run of every probe) of the project in `folder`."""
    subject = obtain_environment(folder, lookup, context.progress)
    variables = check.share_variables(subject, options, context)
    interpreter = check.interpreter_of(subject, options, variables, context)
    plan = check.plan_probes(subject, options, len(OracleProbe))
    bench = check.set_up_probes(plan, interpreter, options, variables, context)
    bench = replace(bench, others=Endpoint(VERDICTS, builtin=True))
    release = interpreter.verifiers or ""
    with context.progress.task(f"Scoring with verifiers {release}", unit="rollouts") as task:
        task.update(total=options.examples * len(OracleProbe))
        return release, asyncio.run(run_probes(bench, context.progress, task))


def compare_runs(
    old: ProbeRun, new: ProbeRun, rewards: Sequence[str]
) -> tuple[ComparedAnswer, ...]:
    """Each answer of `old`, compared by prompt, reward, and the functions `rewards`."""
    return tuple(
        _compare(example, probe, row, new.rows.get((example, probe)), rewards)
        for (example, probe), row in sorted(old.rows.items())
    )


def _compare(
    example: int, probe: OracleProbe, old: Rollout, new: Rollout | None, rewards: Sequence[str]
) -> ComparedAnswer:
    name = probe.name.lower().replace("_", " ")
    if new is None:
        return ComparedAnswer(example, name, old.reward, None, ("prompt",))
    is_scored = old.error is None or bool(old.error.in_scoring)
    pairs: dict[str, tuple[Any, Any]] = {"prompt": (_texts(old.prompt), _texts(new.prompt))}
    if is_scored:
        pairs["reward"] = old.reward, new.reward
    if old.error is None:
        pairs |= {each: (old.metrics.get(each), new.metrics.get(each)) for each in rewards}
    differing = tuple(each for each, (one, two) in pairs.items() if not _is_same(one, two))
    error = new.error or old.error
    words = f"{error.type}: {error.message}" if error else ""
    return ComparedAnswer(example, name, old.reward, new.reward, differing, words, is_scored)


def _texts(messages: Any) -> list[tuple[str, str]]:
    return [(each.get("role", ""), content_text(each.get("content"))) for each in messages or []]


def _is_same(one: Any, two: Any) -> bool:
    if isinstance(one, float | int) and isinstance(two, float | int):
        return abs(one - two) <= _EPSILON
    return bool(one == two)
