"""`prime eval run … --print-job`."""

import os
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.commands.eval.run_options import JobOptions
from prime_cli.core.errors import NotLoggedIn, UsageError
from prime_cli.core.http import is_loopback
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.shards.jobs import job_of, write_job
from prime_cli.models.endpoint_resolution import resolve_endpoint
from prime_cli.models.registry import load_registry
from prime_cli.session import Session


class PrintedJob(msgspec.Struct, frozen=True):
    """What `--output json` prints; `secrets` are the names of the variables that it needs."""

    name: str
    engine: str
    shards: int
    secrets: tuple[str, ...]
    content: str


def print_job(
    session: Session,
    request: EvalRequest,
    options: JobOptions,
    *,
    has_values: bool,
    common: tuple[str, ...],
    others: tuple[Any, ...],
) -> None:
    """Print the job of `request`; nothing is run or sent.

    `has_values` says that variables were given with their values, which may be secrets; `common`
    are flags that each part is given too, and `others` records of options that do not apply to a
    job. Raises UsageError.
    """
    if options.print_job is None or options.shards is None:
        raise UsageError("`--print-job ENGINE` and `--shards N` need each other")
    if not request.environment or request.environment.endswith(".toml"):
        raise UsageError("`--print-job` needs an environment; a suite has no parts")
    if any(each != type(each)() for each in others):
        raise UsageError(
            "Gates, reports, pushes and `--resume` do not apply to a job",
            hint="they apply to the merged run: `prime eval gate RUN`, `prime eval push RUN`",
        )
    if has_values:
        raise UsageError(
            "`--print-job` would write the values of variables into the file",
            hint="pass their names: `--env-var NAME`, and set the values on the cluster",
        )
    job = job_of(
        request,
        options.shards,
        key=_key_variable(request),
        cwd=Path.cwd(),
        environ=os.environ,
        common=common,
    )
    content = write_job(job, options.print_job)
    record = PrintedJob(job.name, options.print_job, options.shards, job.secrets, content)
    if job.lock is None and not job.is_local and "@" not in request.environment:
        session.output.hint(
            f"each part takes the newest {request.environment}: name a version, or lock it here "
            f"with `prime env lock {request.environment}`"
        )
    if request.base_url is not None and is_loopback(request.base_url):
        session.output.hint(f"each node will call its own {request.base_url}, not this machine's")
    session.output.text(content, record=record)


def _key_variable(request: EvalRequest) -> str | None:
    """The variable with the key of the model, set here or not; None for a model without one."""
    registry = load_registry(request.endpoints_path, Path.cwd(), os.environ)
    flags = (request.model, request.base_url, request.key_var, registry)
    try:
        endpoint = resolve_endpoint(*flags, os.environ, provider=request.provider)
    except NotLoggedIn as missing:
        # The nodes have the key, not this machine.
        if request.key_var is None:
            raise UsageError(
                f"{missing.message}, so that its variable is unknown here",
                hint="name the variable that the nodes have: `-k VARIABLE`",
            ) from missing
        return request.key_var
    return request.key_var or endpoint.key_var
