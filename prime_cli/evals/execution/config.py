"""verifiers' configuration of a run, resolved by the environment's release in its interpreter."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound, StorageFailed, UsageError
from prime_cli.core.paths import home_path, prime_home, write_atomically
from prime_cli.core.refs import LATEST
from prime_cli.core.secret_detection import find_secrets
from prime_cli.envs.project.folder import find_local, split_extras_here
from prime_cli.evals.execution.run import choose_interpreter
from prime_cli.evals.execution.setup import RunContext, sandbox_for
from prime_cli.evals.planning.config_args import (
    check_taskset,
    flag_defaults,
    module_of,
    read_config_args,
    with_config,
)
from prime_cli.evals.planning.locate import ResolvedEnvironment
from prime_cli.evals.planning.prepare import ResolvedRequest, make_plan
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.eval_config import ResolvedConfig, resolve_config
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.variables import share


def resolve_request(
    request: EvalRequest, subject: ResolvedEnvironment, context: RunContext
) -> ResolvedRequest:
    """`request` with what `config_args` set, and the configuration of `env`.

    Reports what is not used. A v0 environment has no such configuration: raises UsageError if one
    is given. Raises what choosing an interpreter raises, and UsageError for what verifiers refuses.
    """
    args = read_config_args(request.config_args)
    check_taskset(args, module_of(subject.environment.module))
    bare = replace(request, config_args=(), is_short_s=False)
    plan = make_plan(bare, subject.environment, subject.defaults, model="", endpoint="")
    sandbox = sandbox_for(plan)
    passed = {name: context.variables[name] for name in plan.env_vars if name in context.variables}
    variables = share(context.variables, passed, sandboxed=plan.sandbox)
    with context.turn:
        interpreter = choose_interpreter(plan, subject, context, sandbox, variables=variables)
    if interpreter.generation == "v0":
        _refuse_v0(request, subject, interpreter)
        return ResolvedRequest(bare)
    if request.is_short_s:
        args = replace(args, words=(*args.words, "-s"))
        context.progress.say(f"`-s` shuffles the tasks, as in verifiers {interpreter.verifiers}")
    found = resolve_config(interpreter, args.words, args.files, variables, sandbox)
    _keep_flags(request.environment, subject, found, context)
    merged, sentences = with_config(bare, found.given, args, context.environ)
    for sentence in sentences:
        context.progress.say(sentence)
    return ResolvedRequest(merged, {"env": found.config["env"]})


def _refuse_v0(
    request: EvalRequest, subject: ResolvedEnvironment, interpreter: Interpreter
) -> None:
    if request.config_args:
        raise UsageError(
            f"`{request.config_args[0]}` configures a v1 environment, and "
            f"{subject.environment.name} is a v0 one, on verifiers {interpreter.verifiers}",
            hint="pass its arguments with `-a`, and sampling with `-S`",
        )


# --- What the help has of earlier runs ---


class KnownFlags(msgspec.Struct, frozen=True):
    """{flag: default} of the environment `title`, as verifiers of that release resolved them."""

    title: str
    verifiers: str
    flags: dict[str, str]


def find_flags(word: str, here: Path) -> KnownFlags | None:
    """What the last run or dry run of the environment `word` found; no hub or code is asked."""
    folder, version = _flags_folder(word, here)
    name = "*" if version in ("", LATEST) else quote(version, safe="")
    try:
        newest = max(folder.glob(f"{name}.json"), key=lambda file: file.stat().st_mtime)
        return msgspec.json.decode(newest.read_bytes(), type=KnownFlags)
    except (OSError, ValueError, msgspec.MsgspecError):  # there is none, or it cannot be read
        return None


def _keep_flags(
    word: str, subject: ResolvedEnvironment, found: ResolvedConfig, context: RunContext
) -> None:
    environment = subject.environment
    flags = flag_defaults({"env": found.config["env"]}, found.given)
    record = KnownFlags(environment.title, found.verifiers, flags)
    content = Scrubber(find_secrets(context.variables))(msgspec.json.encode(record))
    folder, _ = _flags_folder(word, context.cwd)
    try:
        write_atomically(folder / f"{quote(environment.version, safe='')}.json", content)
    except StorageFailed:
        return  # The run itself needs none of it.


def _flags_folder(word: str, here: Path) -> tuple[Path, str]:
    """Where the flags of `word` are kept, by versions, and which version it names."""
    plain, _ = split_extras_here(word, here)
    name, _, version = plain.partition("@")
    try:
        local = find_local(plain, here)
    except NotFound:
        local = None
    if local is not None:
        name, version = str(local.resolve()), ""
    digest = digest_bytes(name.encode())[:32]
    return home_path(prime_home(), "cache") / "configurations" / digest, version
