"""`prime eval rerun`."""

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
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.verdict import check_errors


def rerun(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or an evaluation of the hub by id.",
        ),
    ],
    model: flags.ModelOpt = None,
    max_concurrent: flags.PaceOpt = None,
    api_base_url: flags.BaseUrlOpt = None,
    api_key_var: flags.KeyVarOpt = None,
    endpoints_path: flags.EndpointsOpt = None,
    provider: flags.ProviderOpt = None,
    header: flags.HeaderOpt = None,
    env_var: flags.EnvVarOpt = None,
    max_cost: flags.MaxCostOpt = None,
    token_budget: flags.TokenBudgetOpt = None,
    cache: flags.CacheOpt = False,
    sandbox: flags.SandboxOpt = False,
    allow_net: flags.AllowNetOpt = False,
    only_gateway: flags.OnlyGatewayOpt = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run on the packages and data of today.")
    ] = False,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Make a run once more, exactly.

    The same wheel by its sha256, the same packages by their lock, the same examples by their
    fingerprint, sampling, arguments and rollouts, as a run of its own. What cannot be had as it
    was is refused and said. At the end the rewards are held against those of the run.

    \b
    Example:
      prime eval rerun 1f2e3d4c
      prime eval rerun 1f2e3d4c -m builtin/replay:1f2e3d4c
    \b
    See also: `prime eval rescore`, `prime eval compare`, `prime eval run`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    given = given_variables(env_var or [])
    from prime_cli.evals.rerun.rerun import prepare_again, run_again
    from prime_cli.evals.rerun.source import find_source

    places = session.places(trust_policy_of(session, yes=yes))
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
    source = find_source(run, places.cwd, places.hub)
    again = prepare_again(source, request, places, os.environ, session.progress, force=force)
    result = run_again(again, session.surroundings(given=given.values))
    show_again(session, result, source)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
