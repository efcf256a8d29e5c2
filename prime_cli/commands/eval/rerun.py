"""`prime eval rerun` and `prime eval rescore`."""

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines
from prime_cli.commands.options import YES, hub_options, open_session, option_of
from prime_cli.commands.trust_prompt import trust_policy_of
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.planning.cost import check_cap
from prime_cli.evals.planning.parsers import given_variables, parse_object
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.rerun.rerun import ChangedReward, RewardChanges, changed_rewards
from prime_cli.evals.rerun.source import RerunSource
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import check_errors, open_run
from prime_cli.runs.summary import Summary
from prime_cli.session import Session


class RerunReport(msgspec.Struct, frozen=True):
    """What `--output json` prints; `of` is the run or evaluation that was made again."""

    of: str
    summary: Summary
    changes: RewardChanges

    @classmethod
    def of_result(
        cls, result: EvalResult, source: RerunSource, only: frozenset[int] | None
    ) -> "RerunReport":
        """The report of `result`, whose rows are read once more."""
        now = open_run(result.folder.path).rows()
        before = (row for row in source.rows() if only is None or row.example_id in only)
        return cls(source.name, result.summary, changed_rewards(before, now))


def _show_rerun(
    session: Session,
    result: EvalResult,
    source: RerunSource,
    *,
    resumable: bool = True,
    only: frozenset[int] | None = None,
) -> None:
    """Print the summary and the changes, and say what to do next; leaves where a signal came.

    `only` are the examples that were made again, None for all of them.
    """
    report = RerunReport.of_result(result, source, only)
    lines = [*summary_lines(report.summary), *_change_lines(report)]
    session.output.show(report, lines=lines)
    command = resume_command(result.summary.run_id, result.plan) if resumable else None
    exit_if_signalled(session, result.signal, command)
    if report.changes.different and source.folder is not None:
        session.output.hint(
            f"test the difference with `prime eval compare {source.name} {result.summary.run_id}`"
        )


def _change_lines(report: RerunReport) -> list[tuple[str, str]]:
    changes = report.changes
    common = changes.same + changes.different
    if not changes.different:
        told = f"all {common} rewards are the same"
    else:
        told = f"{changes.different} of {common} rewards differ"
    lines = [(f"Against {report.of}", told)]
    if changes.different and changes.before is not None and changes.now is not None:
        lines.append(("", f"mean of these was {changes.before:.3f}, is {changes.now:.3f}"))
    lines.extend(
        (_place(each), f"{_reward(each.before)} -> {_reward(each.now)}") for each in changes.first
    )
    more = changes.different - len(changes.first)
    if more > 0:
        lines.append(("", f"and {more} more"))
    if changes.only_before:
        lines.append(("", f"{changes.only_before} rollouts were not repeated"))
    return lines


def _place(changed: ChangedReward) -> str:
    return f"  {changed.example_id}.{changed.rollout}"


def _reward(value: float | None) -> str:
    return "error" if value is None else f"{value:.4g}"


_Pace = Annotated[
    int | None,
    option_of(
        EvalRequest,
        "max_concurrent",
        names=("--max-concurrent", "-c"),
        show_default="as in the run",
    ),
]


@hub_options(YES)
def rerun(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or the id of an evaluation on the hub.",
        ),
    ],
    model: Annotated[str | None, option_of(EvalRequest, "model")] = None,
    max_concurrent: _Pace = None,
    api_base_url: Annotated[str | None, option_of(EvalRequest, "base_url")] = None,
    api_key_var: Annotated[str | None, option_of(EvalRequest, "key_var")] = None,
    endpoints_path: Annotated[Path | None, option_of(EvalRequest, "endpoints_path")] = None,
    provider: Annotated[str | None, option_of(EvalRequest, "provider")] = None,
    header: Annotated[list[str] | None, option_of(EvalRequest, "headers")] = None,
    env_var: Annotated[list[str] | None, option_of(EvalRequest, "env_vars")] = None,
    max_cost: Annotated[float | None, option_of(EvalRequest, "max_cost")] = None,
    token_budget: Annotated[int | None, option_of(EvalRequest, "token_budget")] = None,
    cache: Annotated[bool, option_of(EvalRequest, "cache")] = False,
    sandbox: Annotated[bool, option_of(EvalRequest, "sandbox")] = False,
    allow_net: Annotated[bool, option_of(EvalRequest, "allow_net")] = False,
    only_gateway: Annotated[bool, option_of(EvalRequest, "only_gateway")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the packages and data available today.")
    ] = False,
) -> None:
    """Repeat a run exactly.

    Creates a new run with the same wheel (by sha256), packages (by lock), examples (by
    fingerprint), sampling, arguments and rollouts. Refuses if something is no longer available.
    Compares the rewards with those of the first run at the end.

    \b
    Example:
      prime eval rerun 1f2e3d4c
      prime eval rerun 1f2e3d4c -m builtin/replay:1f2e3d4c
    \b
    See also: `prime eval rescore`, `prime eval compare`, `prime eval run`.
    """
    session = open_session(ctx)
    given = given_variables(env_var or [])
    from prime_cli.evals.rerun.rerun import prepare_rerun, run_rerun
    from prime_cli.evals.rerun.source import find_source

    lookup = session.lookup_context(trust_policy_of(session))
    request = EvalRequest(
        environment="",
        model=model,
        max_concurrent=max_concurrent,
        base_url=api_base_url,
        key_var=api_key_var,
        endpoints_path=endpoints_path,
        provider=provider,
        headers=tuple(header or ()),
        env_vars=given.names,
        max_cost=max_cost,
        token_budget=token_budget,
        cache=cache,
        sandbox=sandbox,
        allow_net=allow_net,
        only_gateway=only_gateway,
    )
    source = find_source(run, lookup.cwd, lookup.hub)
    again = prepare_rerun(source, request, lookup, os.environ, session.progress, force=force)
    result = run_rerun(again, session.run_context(given=given.values))
    _show_rerun(session, result, source)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)


@hub_options(YES)
def rescore(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or the id of an evaluation on the hub.",
        ),
    ],
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment", metavar="PATH|REF", help="The environment whose rewards to use."
        ),
    ] = None,
    example: Annotated[
        list[int] | None, typer.Option("--example", min=0, help="Only this example; repeatable.")
    ] = None,
    env_args: Annotated[str | None, option_of(EvalRequest, "env_args")] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Replay the saved turns in the environment.")
    ] = False,
    max_concurrent: _Pace = None,
    env_var: Annotated[list[str] | None, option_of(EvalRequest, "env_vars")] = None,
    endpoints_path: Annotated[Path | None, option_of(EvalRequest, "endpoints_path")] = None,
    max_cost: Annotated[float | None, option_of(EvalRequest, "max_cost")] = None,
    cache: Annotated[bool, option_of(EvalRequest, "cache")] = False,
    sandbox: Annotated[bool, option_of(EvalRequest, "sandbox")] = False,
    allow_net: Annotated[bool, option_of(EvalRequest, "allow_net")] = False,
    only_gateway: Annotated[bool, option_of(EvalRequest, "only_gateway")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the packages and data available today.")
    ] = False,
) -> None:
    """Score the saved rollouts of a run again.

    Uses the rewards of the run's own version or of `--environment`. Does not call the model, but
    calls judges that the rewards use. The result is a separate run.

    \b
    Example:
      prime eval rescore 1f2e3d4c --environment ./my-env
      prime eval rescore 1f2e3d4c --example 3 --replay
    \b
    See also: `prime eval rerun`, `prime eval compare`, `prime eval show`.
    """
    session = open_session(ctx)
    given = given_variables(env_var or [])
    from prime_cli.evals.rerun.rescore import RescoreOptions, prepare_rescoring
    from prime_cli.evals.rerun.rescore import rescore as score_again
    from prime_cli.evals.rerun.source import find_source
    from prime_cli.models.registry import load_registry

    lookup = session.lookup_context(trust_policy_of(session))
    told = {
        "concurrency": max_concurrent,
        "max_cost": max_cost,
        "cache": cache or None,
        "sandbox": sandbox or None,
        "allow_net": allow_net or None,
        "only_gateway": only_gateway or None,
        "env_vars": given.names or None,
    }
    changes = RescoreOptions(
        environment=environment,
        env_args=parse_object(env_args, "-a/--env-args"),
        examples=frozenset(example) if example else None,
        replay=replay,
        force=force,
        plan={name: value for name, value in told.items() if value is not None},
    )
    source = find_source(run, lookup.cwd, lookup.hub)
    rescoring = prepare_rescoring(source, changes, lookup, session.progress)
    registry = load_registry(endpoints_path, lookup.cwd, os.environ)
    result = score_again(rescoring, registry, session.run_context(given=given.values))
    _show_rerun(session, result, source, resumable=False, only=changes.examples)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
