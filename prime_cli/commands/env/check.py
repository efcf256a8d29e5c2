"""`prime env check`."""

from typing import Annotated

import typer

from prime_cli.commands.env.reports import show_report
from prime_cli.commands.eval import flags
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    PythonOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.commands.trust_prompt import trust_policy_of
from prime_cli.evals.env_check.check import (
    EXAMPLES,
    ROLLOUT_SECONDS,
    CheckOptions,
    check_environment,
)
from prime_cli.evals.env_check.verdict import require_passed
from prime_cli.evals.planning.given_variables import given_variables
from prime_cli.evals.planning.request import parse_object


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
        int, typer.Option("--num-examples", "-n", help="Examples that are run.")
    ] = EXAMPLES,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail too.")] = False,
    judges: Annotated[
        bool, typer.Option("--judges", help="Let rewards call other models, at their cost.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="The longest rollout.")
    ] = ROLLOUT_SECONDS,
    env_args: flags.EnvArgsOpt = None,
    env_var: flags.EnvVarOpt = None,
    verifiers: flags.VerifiersOpt = None,
    python: PythonOpt = None,
    hub: flags.HubOnlyOpt = False,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Check whether an environment is any good.

    It is built and loaded anew, and answered as gold, nothing, the question itself and garbage
    would; no model is needed. Exits 1 when a check fails, 9 when it does not build or load.

    \b
    Example:
      prime env check my-env
      prime env check starter/alphabet-sort --output json
    \b
    See also: `prime env upload --require-check`, `prime env build`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    given = given_variables(env_var or [])
    options = CheckOptions(
        examples=num_examples,
        rollout_seconds=timeout,
        env_args=parse_object(env_args, "-a/--env-args") or {},
        env_vars=given.names,
        verifiers=verifiers,
        python=python,
        judges=judges,
    )
    checked = check_environment(
        environment,
        options,
        session.places(trust_policy_of(session, yes=yes)),
        session.surroundings(given=given.values),
        hub_only=hub,
    )
    show_report(session.output, checked.report)
    if checked.failure is not None:
        raise checked.failure
    require_passed(checked.report, strict=strict)
