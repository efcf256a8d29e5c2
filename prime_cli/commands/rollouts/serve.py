"""`prime rollouts serve`."""

import os
import shlex
import sys
from dataclasses import replace
from typing import Annotated

import typer

from prime_cli.commands.contract import EVALUATES
from prime_cli.commands.eval.summary import relative_path
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    QUIET,
    YES,
    common_options,
    open_session,
    panel_order,
)
from prime_cli.commands.rollouts.dump import CHANGES, PANELS, SHARED
from prime_cli.core.options import Only
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.folder import RunFolder
from prime_cli.training.plan import prepare_service
from prime_cli.training.session import ServiceOptions, serve_rollouts

_OWN = {
    "num_examples": {"show_default": "all"},
    "output_dir": {"help": "Keep the rollouts in DIR/rollouts."},
}


@panel_order(*PANELS)
@common_options(YES, QUIET, CONTEXT, OFFLINE, effects=EVALUATES)
def serve(
    ctx: typer.Context,
    environment: Annotated[
        str,
        typer.Argument(
            metavar="ENVIRONMENT",
            help="`owner/name[@version]`, a name, a project folder, or a built wheel.",
        ),
    ],
    *,
    request: Annotated[EvalRequest, Only("num_examples", *SHARED, **CHANGES, **_OWN)],
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="The port on 127.0.0.1; 0 is a free one."),
    ] = 0,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=1,
            max=64,
            help="Processes of the environment.",
            rich_help_panel="Limits and errors",
        ),
    ] = 1,
) -> None:
    """Serve rollouts with token ids to a trainer.

    Prints the URL and the token of an HTTP service on this machine, as variables for a shell. The
    trainer names its policy with PUT /v1/policy, unless you do with `-b` and `-m`, and requests
    rollouts with POST /v1/rollouts. Ctrl-C or SIGTERM ends the service.

    \b
    Example:
      prime rollouts serve ada/wordle
      prime rollouts serve ./my-env -m policy -b http://localhost:8000/v1
    \b
    See also: `prime rollouts dump`, `prime eval run`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars, request.env_file)
    request = replace(request, environment=environment, env_vars=given.names, env_file=None)
    lookup = session.lookup_context()
    prepared, has_policy = prepare_service(request, lookup, os.environ, session.progress)

    def announce(url: str, token: str, folder: RunFolder) -> None:
        session.output.say(f"Rollouts are kept in {relative_path(str(folder.path))}")
        for name, value in (("URL", url), ("TOKEN", token)):
            sys.stdout.write(f"export PRIME_ROLLOUTS_{name}={shlex.quote(value)}\n")
        sys.stdout.flush()

    options = ServiceOptions(port, workers, has_policy)
    serve_rollouts(prepared, session.run_context(given=given.values), options, announce)
