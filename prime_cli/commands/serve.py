"""`prime serve`."""

import os
import secrets
import shlex
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import AFTER_DASHES
from prime_cli.commands.contract import BUILDS
from prime_cli.commands.options import DryRunOpt, local_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.paths import home_path, prime_home
from prime_cli.models.serving.engines import find_gpus
from prime_cli.models.serving.installation import install, is_installed
from prime_cli.models.serving.launch import Launch, RunningEngine, engine_environment
from prime_cli.models.serving.plan import (
    KEY_VARIABLE,
    ServePlan,
    ServeRequest,
    endpoint_entry,
    engine_secrets,
    first_call_extras,
    plan_serving,
)
from prime_cli.models.serving.server import command_of
from prime_cli.models.serving.weights import fetch_weights
from prime_cli.session import Session
from prime_cli.training.engines.catalogue import SERVER


class ReadyServer(msgspec.Struct, frozen=True):
    """A model that answers; `entry` is that of endpoints.toml, `key` null if none is needed."""

    url: str
    model: str
    engine: str
    key: str | None
    entry: str


class PlannedServer(msgspec.Struct, frozen=True, kw_only=True):
    """What `--dry-run` prints; `device` names GPUs, `environment` is a folder or a Python."""

    engine: str
    model: str
    device: list[str]
    family: str | None
    url: str
    command: list[str]
    environment: str
    packages: list[str]


@local_options(answer=(ReadyServer, PlannedServer), effects=BUILDS)
def serve(
    ctx: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A folder, a name on Hugging Face, or builtin/smollm2."
        ),
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ENGINE_OPTIONS]", help="For the engine.")
    ] = None,
    *,
    request: ServeRequest,
    dry_run: DryRunOpt = False,
) -> None:
    """Serve a model on this machine with the OpenAI API.

    Starts vLLM on an NVIDIA GPU, otherwise transformers' server, which is installed in its own
    virtual environment on first use. Prints the entry for endpoints.toml to stdout once the server
    has answered a first call. Ctrl-C stops it.

    \b
    Example:
      prime serve Qwen/Qwen3-0.6B
      prime serve builtin/smollm2
      prime serve ./model --port 0 >> endpoints.toml
      prime serve Qwen/Qwen3-0.6B --for training -- --max-model-len 8192
    \b
    See also: `prime eval run -b URL`, `prime rollouts dump`.
    """
    session = open_session(ctx)
    own: list[str] = ctx.meta[AFTER_DASHES]
    before = (arguments or [])[: len(arguments or []) - len(own)]
    if before:
        raise UsageError(
            f"`prime serve` serves one model, not also `{before[0]}`",
            hint="put the engine's options after `--`",
        )
    plan = plan_serving(model, request, own, find_gpus(), home=prime_home(), cwd=Path.cwd())
    for sentence in plan.said:
        session.output.say(sentence)
    for sentence in plan.warned:
        session.output.warn(sentence)
    if dry_run:
        _show_plan(session, plan)
        return
    _serve(session, plan, request)


def _serve(session: Session, plan: ServePlan, request: ServeRequest) -> None:
    output, progress = session.output, session.progress
    python = plan.python or install(
        plan.engine,
        plan.folder or Path(),
        progress,
        has_gpu=bool(plan.gpus),
        offline=session.config.offline,
    )
    if plan.is_builtin:
        fetch_weights(python, progress, offline=session.config.offline)
    key, given = _key(plan)
    kept = engine_secrets(os.environ)
    if plan.engine.key_variable and key:
        kept[plan.engine.key_variable] = key
    launch = Launch(
        plan.engine.title,
        command_of(plan, python, SERVER),
        engine_environment(os.environ, kept),
        home_path(prime_home(), "engines") / f"{plan.port}.log",
        tuple(kept.values()),
    )
    with RunningEngine(launch) as engine:
        with progress.task(f"Starting {plan.engine.title}") as task:
            engine.on_line = lambda line: task.update(note=line)
            took = engine.await_answer(
                plan.url, plan.model, key, request.start_timeout, first_call_extras(request)
            )
            engine.on_line = None
        if not given:
            output.tell(f"export {KEY_VARIABLE}={key}")
        entry = endpoint_entry(plan, plan.name)
        record = ReadyServer(plan.url, plan.model, plan.engine.name.value, key, entry)
        output.text(entry, record=record)
        output.done(f"ready at {plan.url}: it answered a call in {took:.1f}s")
        output.hint(
            f"`prime eval run ENV -m {shlex.quote(plan.model)} -b {plan.url}`; Ctrl-C ends it"
        )
        engine.wait()


def _key(plan: ServePlan) -> tuple[str | None, bool]:
    """The key that the engine will require, and whether the user knows it already."""
    if plan.engine.key_variable is None:
        return None, True
    own = os.environ.get(KEY_VARIABLE, "").strip()
    return (own, True) if own else (secrets.token_urlsafe(32), False)


def _show_plan(session: Session, plan: ServePlan) -> None:
    where = plan.python or plan.folder
    state = "is used" if plan.python else "is installed"
    if plan.folder is not None and not is_installed(plan.folder):
        state = f"will be installed: {plan.engine.size}"
    command = shlex.join([plan.engine.name, *plan.words])
    record = PlannedServer(
        engine=plan.engine.name.value,
        model=plan.model,
        device=list(plan.gpus) or ["cpu"],
        family=plan.family.name if plan.family else None,
        url=plan.url,
        command=[plan.engine.name.value, *plan.words],
        environment=str(where),
        packages=[] if plan.python else list(plan.engine.packages),
    )
    lines = [
        ("engine", plan.engine.title),
        ("device", ", ".join(plan.gpus) or "CPU"),
        ("environment", f"{where} {state}"),
        ("url", plan.url),
        ("command", command),
    ]
    session.output.show(record, lines=lines)
