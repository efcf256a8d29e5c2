"""`prime train run`, which is `prime train`."""

import os
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import AFTER_DASHES
from prime_cli.commands.contract import EVALUATES
from prime_cli.commands.eval.summary import exit_if_signalled, relative_path
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    OUTPUT,
    QUIET,
    YES,
    DryRunOpt,
    common_options,
    open_session,
    panel_order,
)
from prime_cli.commands.suggestions import hint_at_command
from prime_cli.commands.train.nodes import first_node, folder_to_join, train_with_first
from prime_cli.commands.train.option_checks import (
    ON_JOIN,
    ON_RESUME,
    check_given,
    check_sft,
    given_options,
)
from prime_cli.commands.train.prime_rl import (
    PrimeRlCommand,
    check_flags,
    split_words,
    train_with_prime_rl,
)
from prime_cli.commands.train.saved import EndedTraining, notice_of_training, show_ended
from prime_cli.core.builtin_models import SMOLLM2
from prime_cli.core.errors import NotFound, PartialResult, UsageError
from prime_cli.core.formatting import format_share, pluralize
from prime_cli.core.options import Only
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.evals.env_check.attack.known import doubts_of
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.sharing.notice import notify, telling_failure
from prime_cli.models.serving.installation import engine_folder, install, is_installed
from prime_cli.models.serving.weights import check_weights, fetch_weights, weights_words
from prime_cli.runs.comparison.compare import require_statistics
from prime_cli.session import Session
from prime_cli.training.config_file import ADAPTERS_NOTE, FileRequest, read_config_file, with_file
from prime_cli.training.engines.catalogue import PRIME_RL, TrainingEngine
from prime_cli.training.engines.launch import check_packages
from prime_cli.training.fine_tuning import read_sft_file
from prime_cli.training.nodes import FirstNode
from prime_cli.training.plan import TrainingPlan
from prime_cli.training.prepare import (
    PreparedTraining,
    engine_packages,
    prepare_training,
)
from prime_cli.training.record import (
    FailedRollouts,
    SavedTraining,
    find_training,
    typed_name,
)
from prime_cli.training.request import TrainRequest
from prime_cli.training.resume import prepare_resume
from prime_cli.training.run import TrainingResult, train

_SHARED = (
    *("model", "num_examples", "rollouts_per_example", "max_tokens", "temperature", "sampling"),
    *("max_concurrent", "max_retries", "max_cost", "call_timeout", "score_timeout"),
    *("rollout_timeout", "endpoints_path", "env_args", "extra_args", "examples", "env_vars"),
    *("env_file", "secrets", "split", "independent_scoring", "verifiers", "python"),
    *("with_packages", "sandbox", "allow_net", "only_gateway", "hub_only", "output_dir"),
)
_CHANGES = {
    "model": {"help": "A folder, a name on Hugging Face, builtin/smollm2 or builtin/tiny."},
    "num_examples": {"show_default": "all", "help": "Train on the first N examples."},
    "rollouts_per_example": {
        "names": ("--rollouts-per-example", "-r", "--group"),
        "show_default": "8",
        "help": "Rollouts per prompt, whose rewards are compared.",
    },
    "max_tokens": {"show_default": "2048"},
    "max_concurrent": {"show_default": "a step's, at least 32", "panel": "Limits and errors"},
    "temperature": {"show_default": "1.0", "panel": "Model and sampling"},
    "split": {"show_default": "train"},
    "output_dir": {"help": "Save the training in DIR/train."},
}


class PlannedTraining(msgspec.Struct, frozen=True):
    """What `--dry-run` prints; `concurrency` counts rollouts."""

    environment: str
    plan: TrainingPlan
    concurrency: int
    interpreter: str


@panel_order(
    *("Training", "Checks and evaluation", "Engine"),
    *("Limits and errors", "Model and sampling", "Environment", "Results"),
)
@common_options(
    OUTPUT,
    YES,
    QUIET,
    CONTEXT,
    OFFLINE,
    answer=(EndedTraining, PlannedTraining, PrimeRlCommand),
    effects=EVALUATES,
)
def run(
    ctx: typer.Context,
    environment: Annotated[
        str | None,
        typer.Argument(
            metavar="ENVIRONMENT|FILE",
            help="`owner/name[@version]`, a name, a folder, a wheel; or a config.toml.",
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[@ FILE] [-- OPTIONS]", help="For prime-rl."),
    ] = None,
    *,
    request: Annotated[EvalRequest, Only(*_SHARED, **_CHANGES)],
    training: TrainRequest,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="[TRAINING]",
            help="Continue a training at its last checkpoint; without a value, the newest.",
        ),
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(
            "--join",
            metavar="FOLDER",
            help="Train with another machine, which began the training in this folder.",
            rich_help_panel="Training",
        ),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(
            "--notify",
            metavar="COMMAND",
            help="Run this by `sh -c` when the training ends or fails.",
            rich_help_panel="Results",
        ),
    ] = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Train a model on an environment.

    prime runs and scores rollouts as in `prime eval run`, and an engine updates the weights. The
    engine is installed in its own virtual environment on first use. At the end, the trained and
    untrained weights are compared on held-out examples.

    \b
    Example:
      prime train starter/alphabet-sort -m Qwen/Qwen3-0.6B
      prime train starter/sort-names -m builtin/smollm2 --batch 4 -t 24 --lr 2e-5
      prime train ./my-env -m builtin/tiny --steps 25 -t 16 --lr 0.003
      prime train ./my-env -m ./model --steps 200 -r 8 --batch 8 -t 512
      prime train ./my-env -m ./model --sft --data 1f2e3d4c
      prime train run config.toml
      prime train --resume 1f2e3d4c
    \b
    See also: `prime rollouts serve`, `prime eval compare`, `prime serve`.
    """
    session = open_session(ctx)
    if join is not None:
        what = "The first node decides everything for a node that joins, also"
        check_given(ctx, ON_JOIN, what, "omit it")
        train_with_first(session, join, training, _engine_python)
        return
    if environment is None and resume is None:
        raise UsageError("Missing argument ENVIRONMENT", hint="`prime train ENV -m MODEL`")
    requests = [replace(request, environment=environment or "")]
    file = FileRequest({})
    is_file = environment is not None and environment.endswith(".toml")
    if is_file:
        file = _read_file(session, ctx, Path(environment or ""))
        given_here = set(given_options(ctx)) - {"environment"}  # which is the file
        requests, training = with_file(file, request, training, given_here)
    if training.sft:
        training = check_sft(ctx, training, file)
    if training.engine == PRIME_RL and resume is None:
        check_flags(given_options(ctx), from_file=is_file)
        files, own = split_words(arguments or [], ctx.meta[AFTER_DASHES])
        train_with_prime_rl(session, requests, training, files, own, dry_run=dry_run)
        return
    if arguments:
        error = UsageError(
            f"Unexpected argument `{arguments[0]}`", hint="settings of TRL: `--set KEY=VALUE`"
        )
        hint_at_command(error, "train", environment or "")
        raise error
    saved, nodes = None, training.nodes
    if resume is not None:
        hint = "omit it, or begin a new training, from the last checkpoint as its model"
        check_given(ctx, ON_RESUME, "A resumed training cannot change", hint)
        saved = find_training(resume or None, Path.cwd())
        nodes = nodes if "nodes" in given_options(ctx) else saved.facts.plan.nodes
    led = None if dry_run else folder_to_join(training, nodes, request.output_dir)
    if led is not None:
        train_with_first(session, led, training, _engine_python)
        return
    first = None if dry_run else first_node(training, nodes, request.output_dir)
    given = given_options(ctx)
    _train(session, requests, training, file, saved, first, given, command=notify, dry_run=dry_run)


def _train(
    session: Session,
    requests: Sequence[EvalRequest],
    training: TrainRequest,
    file: FileRequest,
    saved: SavedTraining | None,
    first: FirstNode | None,
    given_here: Container[str],
    *,
    command: str | None,
    dry_run: bool,
) -> None:
    if training.eval_examples:
        require_statistics("The verdict at the end")
    given = given_variables(requests[0].env_vars, requests[0].env_file)
    requests = [replace(each, env_vars=given.names, env_file=None) for each in requests]
    lookup = session.lookup_context()
    if saved is not None:
        prepared = prepare_resume(
            saved, requests[0], training, lookup, os.environ, session.progress, given_here
        )
    else:
        prepared = _prepare_new(requests, training, lookup, session.progress, file.ratios)
    engine = engine_packages(prepared.engine, prepared.plan)
    prepared = replace(prepared, engine=engine, first=first)
    _show_plan(session, prepared, training.engine_python, dry_run=dry_run)
    if dry_run:
        return
    is_own = prepared.plan.model == SMOLLM2
    if is_own:
        check_weights(prime_home(), offline=session.config.offline)
    python = _engine_python(session, engine, bool(prepared.plan.gpus), training.engine_python)
    if is_own:
        fetch_weights(python, session.progress, offline=session.config.offline)
    context = session.run_context(given=given.values)
    context = replace(context, environ={**context.environ, **file.wandb})
    with telling_failure(command, notice_of_training, session.progress) as started:
        result = train(prepared, python, context, saved, started.append)
    failed = show_ended(session, result)
    if command:
        notify(command, notice_of_training(result.folder), session.progress)
    if not result.is_finished:
        again = f"prime train --resume {typed_name(result.folder.path, Path.cwd())}"
        exit_if_signalled(session, result.signal, again)
        if result.drained is not None:
            raise PartialResult(result.drained, hint=f"continue with `{again}`")
        session.output.hint(f"continue with `{again}`")
    exit_if_signalled(session, result.signal, None)
    _require_few_failures(result, failed, training.max_error_rate)


def _prepare_new(
    requests: Sequence[EvalRequest],
    training: TrainRequest,
    lookup: LookupContext,
    progress: Progress,
    ratios: tuple[float, ...],
) -> PreparedTraining:
    try:
        return prepare_training(requests, training, lookup, os.environ, progress, ratios)
    except (NotFound, UsageError) as error:
        if requests[0].model is None or isinstance(error, NotFound):
            hint_at_command(error, "train", requests[0].environment)
        raise


def _read_file(session: Session, ctx: typer.Context, path: Path) -> FileRequest:
    """What the file asks for, with a word on what of it is done otherwise here."""
    file = read_sft_file(path) or read_config_file(path)
    adapters = () if {"lora", "sft"} & {*given_options(ctx), *file.values} else (ADAPTERS_NOTE,)
    for sentence in (*adapters, *file.said):
        session.output.say(sentence)
    return file


def _show_plan(
    session: Session, prepared: PreparedTraining, python: Path | None, *, dry_run: bool
) -> None:
    plan, engine = prepared.plan, prepared.engine
    folder = engine_folder(engine, prime_home(), has_gpu=bool(plan.gpus))
    where = f"{python} is used"
    if python is None:
        size = f": {engine.size}" if dry_run else ""  # else the installation says it
        state = "is used" if is_installed(folder) else f"will be installed{size}"
        where = f"{folder} {state}"
    titles = [each.plan.environment.title for each in prepared.rollouts]
    whole = sum(plan.ratios)
    shares = [f", {format_share(each / whole)}" for each in plan.ratios] or [""] * len(titles)
    named = [("Environment", "".join(each)) for each in zip(titles, shares, strict=True)]
    at_once = prepared.rollouts[0].plan.concurrency
    lines = [*named, *plan.lines(), ("At once", pluralize(at_once, "rollout"))]
    lines.append(("Interpreter", where))
    doubts = [doubts_of(each.plan.environment, each.subject.report) for each in prepared.rollouts]
    lines += [("Rewards", doubt) for doubt in dict.fromkeys(doubts) if doubt]
    if plan.model == SMOLLM2:
        lines.append(("Source", weights_words(prime_home())))
    if dry_run:
        title = ", ".join(titles)
        record = PlannedTraining(title, plan, at_once, str(python or folder))
        session.output.show(record, lines=lines)
        return
    wide = max(len(label) for label, _ in lines)
    for label, text in lines:
        session.output.say(f"{label:<{wide}}  {text}")


def _engine_python(
    session: Session, engine: TrainingEngine, has_gpu: bool, python: Path | None
) -> Path:
    if python is not None:
        own = Path.cwd() / python.expanduser()
        for sentence in check_packages(engine, own):
            session.output.warn(sentence)
        return own
    folder = engine_folder(engine, prime_home(), has_gpu=has_gpu)
    return install(
        engine,
        folder,
        session.progress,
        has_gpu=has_gpu,
        offline=session.config.offline,
    )


def _require_few_failures(result: TrainingResult, failed: FailedRollouts, limit: float) -> None:
    """Raise PartialResult if more than a share of all rollouts failed."""
    path = relative_path(str(result.folder.path))
    if failed.share > limit:
        raise PartialResult(
            f"{failed.failed:,} of {failed.finished:,} rollouts failed, more than the "
            f"{format_share(limit, digits=9)} of `--max-error-rate`",
            hint=f"see why with `prime eval show {path} --errors`",
        )
