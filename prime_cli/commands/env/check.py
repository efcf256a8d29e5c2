"""`prime env check`, also before an upload, and `prime env test`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.base import AFTER_DASHES
from prime_cli.commands.contract import BUILDS, EVALUATES, RUNS_PROGRAM
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    QUIET,
    YES,
    common_options,
    hub_options,
    open_session,
)
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.options import Only
from prime_cli.envs.project.folder import Project
from prime_cli.envs.publish.upload import WheelExaminer
from prime_cli.evals.env_check.attack.overlap import read_benchmarks
from prime_cli.evals.env_check.check import (
    ATTACK_CALLS,
    CONCURRENCY,
    EXAMPLES,
    ROLLOUT_SECONDS,
    CheckOptions,
    check_environment,
)
from prime_cli.evals.env_check.findings import require_passed
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.session import Session
from prime_cli.terminal.output import Output
from prime_cli.wire.check_reports import Check, CheckReport, in_words, summarize, told_of

_TELLING = ("warn", "fail")


def show_report(output: Output, report: CheckReport) -> None:
    """One line for each check, and below what to do about those that are not passed."""
    rows = [[check.id, check.status, check.sentence] for check in report.checks]
    output.table(["Check", "Status", "Found"], rows, records=report.checks, page=report)
    for check in report.checks:
        if check.status in _TELLING and check.step:
            output.say(f"{check.id}: {check.step}")
    if report.attack is not None:
        for line in told_of(report.attack):
            output.say(line)
    output.say(f"{report.environment}: {in_words(summarize(report))}")


def log_report(output: Output, report: CheckReport) -> None:
    """The same as talk, where the data is something else: what did not pass, and the counts."""
    for check in report.checks:
        if check.status in _TELLING:
            output.warn(f"{check.id} ({check.status}): {check.sentence}", hint=check.step)
    output.say(f"check: {in_words(summarize(report))}")


@hub_options(YES, answer=CheckReport, record=Check, effects=EVALUATES, exits=ExitCode.GATE)
def check(
    ctx: typer.Context,
    environment: Annotated[
        str,
        typer.Argument(
            metavar="[ENVIRONMENT]",
            help="A folder, a name, a built wheel, or `owner/name[@version]`.",
            show_default="this folder",
        ),
    ] = ".",
    num_examples: Annotated[
        int, typer.Option("--num-examples", "-n", help="Number of examples to run.")
    ] = EXAMPLES,
    every_task: Annotated[
        bool,
        typer.Option("--all-tasks", help="Also set up every task and check its gold answer (v1)."),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as failures.")] = False,
    judges: Annotated[
        bool, typer.Option("--judges", help="Allow rewards to call other models, at their cost.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="The longest rollout.")
    ] = ROLLOUT_SECONDS,
    attack: Annotated[
        bool,
        typer.Option("--attack", help="Also try whether wrong answers are paid like right ones."),
    ] = False,
    attack_calls: Annotated[
        int,
        typer.Option(
            "--attack-calls", metavar="N", help="Answers that the search of --attack may give."
        ),
    ] = ATTACK_CALLS,
    benchmark: Annotated[
        list[Path] | None,
        typer.Option(
            "--benchmark",
            metavar="FILE",
            help="With --attack: texts, or their hashes, that the data must not have.",
        ),
    ] = None,
    *,
    request: Annotated[
        EvalRequest,
        Only(
            *("env_args", "extra_args", "max_concurrent", "env_vars", "verifiers", "python"),
            *("sandbox_provider", "sandbox", "hub_only"),
            max_concurrent={"names": ("--max-concurrent", "-c"), "show_default": str(CONCURRENCY)},
        ),
    ],
) -> None:
    """Check the quality of an environment.

    Builds and loads it in a fresh interpreter, and scores gold answers, empty ones, the repeated
    question and garbage. Needs no model. Exits 1 if a check fails, 9 if it does not build or load.
    With --attack, a panel of answers that are wrong by construction, a search among them, the
    source, and what splits of the data have in common are checked too.

    \b
    Example:
      prime env check my-env
      prime env check my-env --all-tasks -c 16
      prime env check my-env --attack --sandbox --benchmark gsm8k.jsonl
      prime env check starter/alphabet-sort --output json
    \b
    See also: `prime env upload --require-check`, `prime env build`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars)
    options = CheckOptions(
        examples=num_examples,
        rollout_seconds=timeout,
        every_task=every_task,
        concurrency=(CONCURRENCY if request.max_concurrent is None else request.max_concurrent),
        env_args=request.env_args or {},
        extra_args=request.extra_args or {},
        env_vars=given.names,
        verifiers=request.verifiers,
        python=request.python,
        judges=judges,
        sandbox_provider=request.sandbox_provider,
        attack=attack,
        attack_calls=attack_calls,
        benchmark=read_benchmarks(benchmark or ()),
        sandbox=request.sandbox,
    )
    checked = check_environment(
        environment,
        options,
        session.lookup_context(),
        session.run_context(given=given.values),
        hub_only=request.hub_only,
    )
    show_report(session.output, checked.report)
    if checked.failure is not None:
        raise checked.failure
    require_passed(checked.report, strict=strict)


@common_options(YES, QUIET, CONTEXT, OFFLINE, effects=(*BUILDS, RUNS_PROGRAM))
def run_tests(
    ctx: typer.Context,
    environment: Annotated[
        str | None,
        typer.Argument(
            metavar="[ENVIRONMENT]",
            help="A project: its folder or its name.",
            show_default="this folder",
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENT...]", help="Passed to pytest."),
    ] = None,
    *,
    request: Annotated[EvalRequest, Only("env_vars", "verifiers", "python")],
) -> None:
    """Run an environment's own tests with pytest.

    Uses an interpreter that has the environment and its development requirements: those of the
    `dev` and `test` groups in `[dependency-groups]`, or else of the extras with these names. Ends
    with pytest's exit code.

    \b
    Example:
      prime env test my-env
      prime env test -- -k scoring -x
    \b
    See also: `prime env check`, `prime eval run --debug`.
    """
    from prime_cli.evals.env_check.own_tests import run_own_tests

    session = open_session(ctx)
    word, after = _split_dashes(ctx, "test", environment, arguments)
    given = given_variables(request.env_vars)
    code = run_own_tests(
        word,
        after,
        CheckOptions(env_vars=given.names, verifiers=request.verifiers, python=request.python),
        session.lookup_context(),
        session.run_context(given=given.values),
    )
    raise typer.Exit(code)


@common_options(YES, QUIET, CONTEXT, OFFLINE, effects=(*EVALUATES, RUNS_PROGRAM))
def shell(
    ctx: typer.Context,
    environment: Annotated[
        str | None,
        typer.Argument(
            metavar="[ENVIRONMENT]",
            help="A folder, a name, a built wheel, or `owner/name[@version]`.",
            show_default="this folder",
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Run this and end with its exit code."),
    ] = None,
    *,
    example: Annotated[
        int, typer.Option("--example", metavar="NUMBER", min=0, help="Whose task to set up.")
    ] = 0,
    request: Annotated[
        EvalRequest, Only("env_args", "extra_args", "env_vars", "verifiers", "python")
    ],
) -> None:
    """Open a shell in the runtime of a task.

    Sets up the task of a v1 environment, and calls no model. The runtime is that of the first
    agent: a folder on this machine unless `-x` chooses a container or a sandbox, where a command
    has to be given. A single word is a line for `sh`.

    \b
    Example:
      prime env shell my-env --example 3
      prime env shell my-env -- 'ls -l | head'
    \b
    See also: `prime env check --all-tasks`, `prime eval run --debug`.
    """
    from prime_cli.evals.env_check.task_shell import enter_task

    session = open_session(ctx)
    word, after = _split_dashes(ctx, "shell", environment, command)
    given = given_variables(request.env_vars)
    options = CheckOptions(
        env_args=request.env_args or {},
        extra_args=request.extra_args or {},
        env_vars=given.names,
        verifiers=request.verifiers,
        python=request.python,
    )
    code = enter_task(
        word or ".",
        example,
        after,
        options,
        session.lookup_context(),
        session.run_context(given=given.values),
    )
    raise typer.Exit(code)


def _split_dashes(
    ctx: typer.Context, name: str, environment: str | None, rest: list[str] | None
) -> tuple[str | None, list[str]]:
    """The environment, if one is named, and the words after `--`."""
    after: list[str] = ctx.meta[AFTER_DASHES]
    words = [*([] if environment is None else [environment]), *(rest or [])]
    before = words[: len(words) - len(after)]
    if len(before) > 1:
        of_what = "pytest's arguments" if name == "test" else "the command"
        raise UsageError(
            f"`prime env {name}` takes one environment, not also `{before[1]}`",
            hint=f"put {of_what} after `--`",
        )
    return (before[0] if before else None), after


def upload_check(session: Session, *, required: bool, holding: bool = False) -> WheelExaminer:
    """What checks a wheel before it is published; its talk goes to stderr.

    A wheel that cannot be loaded is refused as without a check. With `required` it raises
    GateFailed for one that fails a check, with `holding` for rewards that do not hold an attack.
    """
    from prime_cli.evals.env_check.check import CheckOptions, check_subject
    from prime_cli.evals.env_check.findings import require_holding, require_passed
    from prime_cli.evals.execution.setup import RunContext, RunOptions
    from prime_cli.evals.planning.locate import environment_of_wheel

    def examine(wheel: Path, project: Project) -> CheckReport:
        options = RunOptions(offline=session.config.offline)
        wanted = CheckOptions(attack=holding)
        context = RunContext(Path.cwd(), os.environ, session.progress, options)
        checked = check_subject(environment_of_wheel(wheel, project), wanted, context)
        log_report(session.output, checked.report)
        if checked.failure is not None:
            raise checked.failure
        if required:
            require_passed(checked.report)
        if holding:
            require_holding(checked.report)
        return checked.report

    return examine
