"""`prime eval rescore`."""

import os
from typing import Annotated

import typer

from prime_cli.commands.eval import flags
from prime_cli.commands.eval.again import show_again
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.commands.trust_prompt import trust_policy_of
from prime_cli.evals.planning.caps import check_cap
from prime_cli.evals.planning.given_variables import given_variables
from prime_cli.evals.planning.request import parse_object
from prime_cli.runs.verdict import check_errors


def rescore(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or an evaluation of the hub by id.",
        ),
    ],
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="PATH|REF", help="Whose rewards to give."),
    ] = None,
    example: Annotated[
        list[int] | None, typer.Option("--example", min=0, help="Only this one; repeatable.")
    ] = None,
    env_args: flags.EnvArgsOpt = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Let the environment go through the turns again.")
    ] = False,
    max_concurrent: flags.PaceOpt = None,
    env_var: flags.EnvVarOpt = None,
    endpoints_path: flags.EndpointsOpt = None,
    max_cost: flags.MaxCostOpt = None,
    cache: flags.CacheOpt = False,
    sandbox: flags.SandboxOpt = False,
    allow_net: flags.AllowNetOpt = False,
    only_gateway: flags.OnlyGatewayOpt = False,
    force: Annotated[
        bool, typer.Option("--force", help="Score on the packages and data of today.")
    ] = False,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Give rewards anew to what a run has saved.

    The rewards are those of the run's own version, or of `--environment`; its model is not called,
    but judges that the rewards ask are. The result is a run of its own.

    \b
    Example:
      prime eval rescore 1f2e3d4c --environment ./my-env
      prime eval rescore 1f2e3d4c --example 3 --replay
    \b
    See also: `prime eval rerun`, `prime eval compare`, `prime eval show`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    given = given_variables(env_var or [])
    from prime_cli.evals.rerun.rescore import Changes, prepare_rescoring
    from prime_cli.evals.rerun.rescore import rescore as score_again
    from prime_cli.evals.rerun.source import find_source
    from prime_cli.models.registry import load_registry

    places = session.places(trust_policy_of(session, yes=yes))
    told = {
        "concurrency": max_concurrent,
        "max_cost": max_cost,
        "cache": cache or None,
        "sandbox": sandbox or None,
        "allow_net": allow_net or None,
        "only_gateway": only_gateway or None,
        "env_vars": given.names or None,
    }
    changes = Changes(
        environment=environment,
        env_args=parse_object(env_args, "-a/--env-args"),
        examples=frozenset(example) if example else None,
        replay=replay,
        force=force,
        plan={name: value for name, value in told.items() if value is not None},
    )
    source = find_source(run, places.cwd, places.hub)
    rescoring = prepare_rescoring(source, changes, places, session.progress)
    registry = load_registry(endpoints_path, places.cwd, os.environ)
    result = score_again(rescoring, registry, session.surroundings(given=given.values))
    show_again(session, result, source, resumable=False, only=changes.examples)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
