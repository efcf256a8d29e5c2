"""`prime eval push`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import ExitCode, PrimeError, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.refs import EnvRef

if TYPE_CHECKING:
    from prime_cli.evals.sharing.push_options import PushOptions, PushResult
    from prime_cli.runs.saved_run import SavedRun
    from prime_cli.session import Session


_OPTIONS = "prime_cli.evals.sharing.push_options"


@hub_options(
    answer=(f"{_OPTIONS}:PushResult", f"{_OPTIONS}:PushResults"),
    effects=WRITES,
    exits=ExitCode.PARTIAL,
)
def push(
    ctx: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Ids of runs or their folders.",
            show_default="this folder if it is a run, else the newest here",
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env", "--env-id", "-e", metavar="OWNER/NAME", help="The environment on the hub."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name.")] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="Make it visible to everybody who sees the environment."),
    ] = False,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", "-r", metavar="ID", help="The training run it belongs to."),
    ] = None,
    evaluation: Annotated[
        str | None,
        typer.Option(
            "--eval", "--eval-id", metavar="EVALUATION", help="Push into this evaluation."
        ),
    ] = None,
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="Push even with errors, or before it has ended.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Create a new evaluation, even if one exists.")
    ] = False,
) -> None:
    """Push saved evaluations to the hub.

    Continues an interrupted push. Pushing again creates no second evaluation, but updates it if
    the run was resumed. Runs of vf-eval can be pushed too.

    \b
    Example:
      prime eval push
      prime eval push 1f2e3d4c --public
      prime eval push outputs/evals/wordle--gpt-4/abc123 --env ada/wordle
    \b
    See also: `prime eval run --push`, `prime eval get`, `prime env upload`.
    """
    from prime_cli.evals.sharing.push_options import PushOptions, PushResults
    from prime_cli.runs.listing import find_run

    session = open_session(ctx)
    if evaluation is not None and new:
        raise UsageError("`--eval` and `--new` are mutually exclusive")
    if evaluation is not None and len(runs or ()) > 1:
        raise UsageError("`--eval` accepts only one run")
    options = PushOptions(
        environment=EnvRef.parse(env) if env else None,
        name=name,
        evaluation_id=evaluation,
        run_id=run_id,
        team=session.config.context.team,
        is_public=public,
        partial=allow_partial,
        anew=new,
    )
    wanted: list[str | None] = [*runs] if runs else [_default(Path.cwd())]
    found = [find_run(each, Path.cwd()) for each in wanted]
    results = [push_saved(session, each, options) for each in found]
    if len(results) == 1:
        session.output.done(_told(results[0]), value=results[0])
    else:
        session.output.done("\n".join(map(_told, results)), value=PushResults(results))
    for result in results:
        _say_where(session, result)


def push_saved(session: "Session", run: "SavedRun", options: "PushOptions") -> "PushResult":
    """Push one run with what this invocation knows of hub and keys."""
    from prime_cli.evals.gate.calibration import known_trust
    from prime_cli.evals.sharing.push import push_run
    from prime_cli.evals.sharing.push_options import scrubber_for
    from prime_cli.runs.plan import shard_text

    result = push_run(
        session.hub,
        run,
        replace(options, trust=known_trust(run, Path.cwd())),
        scrub=scrubber_for(run, os.environ, session.credential.key),
        progress=session.progress,
    )
    remember("evaluations", [result.evaluation_id])
    shard = None if run.manifest is None else shard_text(run.manifest.plan)
    if shard is not None and options.evaluation_id is None:
        session.output.hint(
            f"this is part {shard} of a run: push the others with `--eval {result.evaluation_id}`, "
            "or the whole after `prime eval merge`"
        )
    if result.skipped:
        session.output.warn(
            f"{pluralize(len(result.skipped), 'rollout')} left out: more than 25 MiB, "
            "the maximum size of a request"
        )
    return result


def push_at_end(session: "Session", folder: Path) -> None:
    """Push the run in `folder` when it has ended; its exit code does not change if that fails."""
    from prime_cli.evals.sharing.push_options import PushOptions
    from prime_cli.runs.saved_run import open_run

    try:
        result = push_saved(
            session, open_run(folder), PushOptions(team=session.config.context.team)
        )
    except PrimeError as error:
        session.output.warn(
            f"Not pushed: {error.message}",
            hint=f"the run is kept; push it with `prime eval push {folder.name}`"
            + (f" ({error.hint})" if error.hint else ""),
        )
    else:
        session.output.say(_told(result))
        _say_where(session, result)


def _default(cwd: Path) -> str | None:
    is_run = (cwd / "run.json").is_file() or (cwd / "results.jsonl").is_file()
    return "." if is_run else None


def _told(result: "PushResult") -> str:
    match result.status:
        case "unchanged":
            hub = urlsplit(result.hub).netloc
            return f"Run {result.run_id} is already on {hub}: {result.evaluation_id}"
        case "updated":
            return (
                f"Brought {result.evaluation_id} up to date with run {result.run_id}: "
                f"{pluralize(result.samples, 'rollout')}"
            )
        case _:
            rollouts = pluralize(result.samples, "rollout")
            return f"Pushed {rollouts} of run {result.run_id} as {result.evaluation_id}"


def _say_where(session: "Session", result: "PushResult") -> None:
    context, web_url = session.config.context, session.config.context.web_url
    told = "View it at"
    if result.widened:
        told = f"{result.evaluation_id} is now public:"
    if result.viewer_url or web_url:
        # The public hub does not always say where its page is; this is where clients look.
        default = f"{web_url}/dashboard/evaluations/{result.evaluation_id}"
        session.output.say(f"{told} {context.page(result.viewer_url or default)}")
    else:
        if result.widened:
            session.output.say(told.rstrip(":"))
        session.output.hint(f"see it with `prime eval get {result.evaluation_id}`")
