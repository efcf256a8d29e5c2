"""`prime eval run`."""

import difflib
import os

import typer

from prime_cli.commands.eval import gate_options
from prime_cli.commands.eval import run_options as options
from prime_cli.commands.eval.gate import apply_gates, prepare_gates
from prime_cli.commands.eval.prepare_run import announce_cost, prepare_run
from prime_cli.commands.eval.push import push_at_end
from prime_cli.commands.eval.suite import run_suite
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines
from prime_cli.commands.options import (
    CONTEXT,
    LONG_OUTPUT,
    OFFLINE,
    QUIET,
    YES,
    PythonOpt,
    common_options,
    open_session,
)
from prime_cli.commands.trust_prompt import trust_policy_of
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.execution.context import RunContext
from prime_cli.evals.execution.run import EvalResult, run_evaluation
from prime_cli.evals.gate.thresholds import check_gates
from prime_cli.evals.planning.cost import check_cap
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.request import (
    EvalRequest,
    given_variables,
    parse_deadlines,
    parse_names,
    parse_object,
)
from prime_cli.models.gateway.limits.shared_state import describe_limits, limits_folder
from prime_cli.runs.plan import resume_command
from prime_cli.runs.verdict import check_errors
from prime_cli.session import Session


@common_options(YES, LONG_OUTPUT, QUIET, CONTEXT, OFFLINE)
def run(
    ctx: typer.Context,
    environment: options.NameArg = None,
    model: options.ModelOpt = None,
    num_examples: options.ExamplesOpt = None,
    rollouts_per_example: options.RolloutsOpt = None,
    max_concurrent: options.ConcurrencyOpt = None,
    max_tokens: options.MaxTokensOpt = None,
    temperature: options.TemperatureOpt = None,
    sampling_args: options.SamplingOpt = None,
    env_args: options.EnvArgsOpt = None,
    extra_env_kwargs: options.ExtraOpt = None,
    api_base_url: options.BaseUrlOpt = None,
    api_key_var: options.KeyVarOpt = None,
    endpoints_path: options.EndpointsOpt = None,
    provider: options.ProviderOpt = None,
    header: options.HeaderOpt = None,
    env_var: options.EnvVarOpt = None,
    env_file: options.EnvFileOpt = None,
    state_columns: options.StateColumnsOpt = None,
    independent_scoring: options.IndependentOpt = False,
    max_retries: options.RetriesOpt = 0,
    max_error_rate: options.ErrorRateOpt = 0.0,
    fail_fast: options.FailFastOpt = None,
    max_cost: options.MaxCostOpt = None,
    token_budget: options.TokenBudgetOpt = None,
    call_timeout: options.CallTimeoutOpt = None,
    score_timeout: options.ScoreTimeoutOpt = None,
    rollout_timeout: options.RolloutTimeoutOpt = None,
    cache: options.CacheOpt = False,
    resume: options.ResumeOpt = None,
    retry_errors: options.RetryErrorsOpt = False,
    new: options.NewOpt = False,
    fail_under: gate_options.FailUnderOpt = None,
    baseline: gate_options.BaselineOpt = None,
    max_drop: gate_options.MaxDropOpt = None,
    junit: gate_options.JunitOpt = None,
    github_summary: gate_options.GithubSummaryOpt = None,
    verifiers: options.VerifiersOpt = None,
    python: PythonOpt = None,
    sandbox: options.SandboxOpt = False,
    allow_net: options.AllowNetOpt = False,
    only_gateway: options.OnlyGatewayOpt = False,
    hub: options.HubOnlyOpt = False,
    tag: options.TagOpt = None,
    note: options.NoteOpt = None,
    save_results: options.SaveOpt = False,  # noqa: ARG001 results are always saved
    push: options.PushOpt = False,
    save_to_hf_hub: options.SaveToHubOpt = False,
    hf_hub_dataset_name: options.DatasetNameOpt = None,
    official: options.OfficialOpt = False,  # noqa: ARG001 what they ask for is so already
    num_workers: options.WorkersOpt = None,  # noqa: ARG001 one worker holds all
    verbose: options.VerboseOpt = False,
) -> None:
    """Evaluate a model on an environment.

    A bare name is the project in this folder, `./NAME` or `./environments/NAME`, else the one on
    the hub. `prime eval NAME` is short for this command. A run that was interrupted goes on where
    it ended with `--resume`; with a larger `-n` or `-r` a finished one grows.

    \b
    Example:
      prime eval run starter/alphabet-sort -m builtin/oracle
      prime eval run ada/wordle -m gpt-4.1-mini -n 20 -r 3
      prime eval run ./my-env -m Qwen/Qwen3-0.6B -b http://localhost:8000/v1
      prime eval run --resume 1f2e3d4c
      prime eval run nightly.toml --max-cost 5
    \b
    See also: `prime eval list`, `prime eval show`, `prime eval push`.
    """
    session = open_session(ctx)
    given = given_variables(env_var or [], env_file)
    request = EvalRequest(
        environment=environment or "",
        model=model,
        num_examples=num_examples,
        rollouts_per_example=rollouts_per_example,
        max_concurrent=max_concurrent,
        max_tokens=max_tokens,
        temperature=temperature,
        sampling=parse_object(sampling_args, "-S/--sampling-args"),
        env_args=parse_object(env_args, "-a/--env-args"),
        extra_args=parse_object(extra_env_kwargs, "-x/--extra-env-kwargs"),
        base_url=api_base_url,
        key_var=api_key_var,
        endpoints_path=endpoints_path,
        provider=provider,
        headers=tuple(header or ()),
        env_vars=given.names,
        state_columns=parse_names(state_columns or []),
        independent_scoring=independent_scoring,
        max_retries=max_retries,
        max_error_rate=max_error_rate,
        fail_fast=fail_fast,
        verifiers=verifiers,
        python=python,
        hub_only=hub,
        sandbox=sandbox,
        allow_net=allow_net,
        only_gateway=only_gateway,
        deadlines=parse_deadlines(call_timeout, score_timeout, rollout_timeout),
        max_cost=max_cost,
        token_budget=token_budget,
        cache=cache,
        retry_errors=retry_errors,
        tags=parse_names(tag or []),
        note=note,
    )
    if request.environment.endswith(".toml"):
        for_one = (fail_under, baseline, max_drop, junit, github_summary, hf_hub_dataset_name)
        if save_to_hf_hub or any(value is not None for value in for_one):
            raise UsageError(
                "Gates, reports and `-H` are of one evaluation, and this is a suite of several",
                hint="hold its runs to limits afterwards with `prime eval gate RUN`",
            )
        run_suite(
            session,
            request,
            session.places(trust_policy_of(session)),
            resume=resume,
            new=new,
            push=push,
            given=given.values,
        )
        return
    if save_to_hf_hub:
        from prime_cli.commands.eval.export import check_dataset_push

        check_dataset_push(session, os.environ)
    elif hf_hub_dataset_name:
        session.output.warn("`-D` names a data set, which only `-H` pushes")
    gates = prepare_gates(
        session,
        fail_under=fail_under,
        baseline=baseline,
        max_drop=max_drop,
        junit=junit,
        github_summary=github_summary,
    )
    around = session.surroundings(given=given.values)
    result = _evaluate(session, request, around, resume=resume, new=new, verbose=verbose)
    _show(session, result, verbose=verbose)
    judgement = apply_gates(gates, session, result.folder.path, result.summary)
    if push:
        push_at_end(session, result.folder.path)
    if save_to_hf_hub:
        from prime_cli.commands.eval.export import push_as_dataset_at_end

        push_as_dataset_at_end(session, result.folder.path, hf_hub_dataset_name, environ=os.environ)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
    check_gates(judgement.outcomes, result.summary.run_id)


def _evaluate(
    session: Session,
    request: EvalRequest,
    around: RunContext,
    *,
    resume: str | None,
    new: bool,
    verbose: bool,
) -> EvalResult:
    places = session.places(trust_policy_of(session))
    try:
        prepared, resumed = prepare_run(session, request, places, resume=resume, new=new)
    except NotFound as error:
        raise _perhaps_a_command(error, request.environment) from error
    _remember(request.model, prepared)
    if verbose:
        for label, text in prepared.plan.lines():
            session.output.say(f"{label}: {text}")
        session.output.say(f"Limits: {describe_limits(limits_folder())}")
    announce_cost(session, prepared, resumed, places.cwd, verbose=verbose)
    return run_evaluation(prepared, around, resumed)


def _remember(model: str | None, prepared: PreparedRun) -> None:
    """Have the names completed that were just found to mean something."""
    remember("models", [*([model] if model else []), *prepared.registry.aliases])
    if prepared.plan.environment.ref:
        remember("environments", [prepared.plan.environment.slug])


def _perhaps_a_command(error: NotFound, word: str) -> NotFound:
    """`prime eval lst` looks for an environment of that name; a command may have been meant."""
    meant = difflib.get_close_matches(word, ("list", "show", "run"), n=1)
    return (
        NotFound(error.message, hint=f"did you mean `prime eval {meant[0]}`?") if meant else error
    )


def _show(session: Session, result: EvalResult, *, verbose: bool) -> None:
    session.output.show(result.summary, lines=summary_lines(result.summary))
    for error in result.summary.errors if verbose else ():
        if error.traceback:
            session.output.say(f"{error.kind} error {error.type}, {error.count} x, the first:")
            session.output.say(error.traceback.rstrip())
    command = resume_command(result.summary.run_id, result.plan)
    exit_if_signalled(session, result.signal, command)
