"""`prime rollouts dump`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from prime_cli.commands.contract import EVALUATES
from prime_cli.commands.eval.summary import exit_if_signalled
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    QUIET,
    YES,
    ForceOpt,
    common_options,
    open_session,
    panel_order,
)
from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.options import Only
from prime_cli.core.paths import storage_errors
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.prepare import prepare
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.training.dump import dump_rollouts
from prime_cli.training.plan import for_training, require_model

PANELS = ("Limits and errors", "Model and sampling", "Environment", "Results")
SHARED = (
    *("model", "max_concurrent", "max_tokens", "temperature", "sampling"),
    *("env_args", "extra_args", "base_url", "key_var", "endpoints_path", "provider", "headers"),
    *("env_vars", "env_file", "secrets", "split", "shuffle", "independent_scoring"),
    *("max_retries", "max_cost", "token_budget", "call_timeout", "score_timeout"),
    *("rollout_timeout", "verifiers", "python", "with_packages", "sandbox", "allow_net"),
    *("only_gateway", "hub_only", "output_dir"),
)
"""The flags of `prime eval run` that mean the same for every way to get rollouts."""
CHANGES = {"split": {"show_default": "train"}, "temperature": {"show_default": "1.0"}}
_SIZE = ("num_examples", "rollouts_per_example", "examples", "max_error_rate", "fail_fast")


@panel_order(*PANELS)
@common_options(YES, QUIET, CONTEXT, OFFLINE, effects=EVALUATES)
def dump(
    ctx: typer.Context,
    environment: Annotated[
        str,
        typer.Argument(
            metavar="ENVIRONMENT",
            help="`owner/name[@version]`, a name, a project folder, or a built wheel.",
        ),
    ],
    *,
    request: Annotated[EvalRequest, Only(*_SIZE, *SHARED, **CHANGES)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write.",
            show_default="stdout",
            rich_help_panel="Results",
        ),
    ] = None,
    force: ForceOpt = False,
) -> None:
    """Write rollouts with token ids as JSON lines.

    Each line holds a finished rollout: its reward and messages, and its segments with token ids and
    log-probabilities exactly as the model's server sampled them. Needs a server that returns token
    ids, such as vLLM 0.10.2 or later. Progress goes to stderr.

    \b
    Example:
      prime rollouts dump ./my-env -m policy -b http://localhost:8000/v1 > r.jsonl
      prime rollouts dump ada/wordle -m policy -n 100 -r 8 -o r.jsonl
    \b
    See also: `prime eval run`, `prime eval show`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars, request.env_file)
    request = replace(request, environment=environment, env_vars=given.names, env_file=None)
    require_model(request)
    _check_place(out, force=force)
    lookup = session.lookup_context()
    prepared = prepare(request, lookup, os.environ, session.progress, own_weights=True)
    prepared = for_training(prepared)
    session.run_policy(lookup).announce_cost(prepared, None, verbose=False)
    context = session.run_context(given=given.values)
    if out is None and sys.stdout.isatty():
        # A bar would be drawn between the lines.
        context = replace(context, progress=session.output.spoken)
    with opened(out) as stream:
        dumped = dump_rollouts(prepared, context, stream)
    summary = dumped.result.summary
    session.output.hint(f"the run is saved too: `prime eval show {summary.run_id}`")
    exit_if_signalled(session, dumped.result.signal, None)
    dumped.check()


def _check_place(out: Path | None, *, force: bool) -> None:
    if out is None:
        return
    if not out.absolute().parent.is_dir():
        raise NotFound(f"The folder of {out} does not exist", hint=f"`mkdir -p {out.parent}`")
    if out.exists() and not force:
        raise Conflict(f"{out} exists", hint="choose another file, or overwrite it with `--force`")


@contextmanager
def opened(out: Path | None) -> Iterator[BinaryIO]:
    """The file to write to, stdout for None; a new file in which nothing was written is removed.

    Raises StorageFailed.
    """
    if out is None:
        yield sys.stdout.buffer
        return
    with storage_errors(out):
        try:
            with out.open("wb") as file:
                yield file
        finally:
            if out.is_file() and not out.stat().st_size:
                out.unlink()
