"""Harnesses of v1 environments: `null` in this process, others with their packages prepared.

The program of verifiers' `null` is a PEP 723 script, a chat loop, that verifiers starts with uv:
1.2 s of CPU and 50 MB per rollout. Here the same source runs as a coroutine with the same
arguments; only its client differs, which shares connections. So messages, tools, compaction, the
end at a full context, and exit codes are those of the release. A release with a different kind of
program gets separate processes.

Packages of other harnesses' scripts are fetched by uv on first use. Without a network a script runs
on the environment's own packages if they satisfy it, as they do for verifiers' `bash` and `null`.
"""

import contextlib
import functools
import importlib.metadata
import inspect
import os
import re
import sys
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

from .client import loopback_client
from .failures import BadArguments, StageFailed
from .request_identity import current
from .spec import WorkerSpec

SOURCES = ("CHAT_PROGRAM_SOURCE", "PROGRAM_SOURCE")
"""The script's name in the harness's module: from 0.4 on, and up to 0.3."""
MESSAGES_FILE = "--initial-messages-file="

arguments: ContextVar[list[str]] = ContextVar("prime_program_arguments")


def run_in_process(call_retries: int) -> bool:
    """Make `null` run its program in this process on a local runtime; False if it cannot."""
    from verifiers.v1.harnesses.null import harness as module

    null = module.NullHarness
    source = next((text for name in SOURCES if (text := getattr(module, name, None))), None)
    program = None if source is None else _load(source, call_retries)
    if source is None or program is None:
        return False
    by_process = null.setup, null.launch

    async def setup(self: Any, runtime: Any) -> None:
        if not is_plain_subprocess(runtime):
            await by_process[0](self, runtime)

    async def launch(
        self: Any, ctx: Any, trace: Any, runtime: Any, *given: Any, **named: Any
    ) -> Any:
        is_local = is_plain_subprocess(runtime) and not self.config.resolved_env
        target = _InProcess(runtime, source, program) if is_local else runtime
        return await by_process[1](self, ctx, trace, target, *given, **named)

    null.setup, null.launch = setup, launch
    return True


class _InProcess:
    """A runtime that runs one script in this process, and delegates everything else."""

    def __init__(self, runtime: Any, source: str, program: Callable[[], Any]) -> None:
        self._runtime = runtime
        self._source = source
        self._program = program

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def prepare_uv_script(self, script: Any, *given: Any, **named: Any) -> list[str]:
        if script == self._source:
            return []
        found: list[str] = await self._runtime.prepare_uv_script(script, *given, **named)
        return found

    async def run_program(self, argv: list[str], env: dict[str, str]) -> Any:
        from verifiers.v1.runtimes import ProgramResult

        del env  # additions of the harness's own `env`, which are none here
        arguments.set([self._local_path(word) for word in argv])
        try:
            await self._program()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
            return ProgramResult(code, "", _traceback(leaving))
        except Exception as error:
            return ProgramResult(1, "", _traceback(error))
        return ProgramResult(0, "", "")

    run = run_program

    def _local_path(self, word: str) -> str:
        """`word`, with a path in the runtime's folder made valid for this process."""
        if not word.startswith(MESSAGES_FILE):
            return word
        return f"{MESSAGES_FILE}{backend_of(self._runtime).workdir / word[len(MESSAGES_FILE) :]}"


def _load(source: str, call_retries: int) -> Callable[[], Any] | None:
    """The program's `main`, or None if it cannot be run here."""
    scope: dict[str, Any] = {"__name__": "prime_null_program"}
    try:
        exec(compile(source, "null/program.py", "exec"), scope)  # noqa: S102 - verifiers' own
    except ImportError:
        return None
    main, read = scope.get("main"), scope.get("parse_args")
    if not inspect.iscoroutinefunction(main) or not callable(read) or "AsyncOpenAI" not in scope:
        return None

    def parse_args() -> Any:
        with _argv(["program.py", *arguments.get()]):
            return read()

    scope["parse_args"] = parse_args
    scope["AsyncOpenAI"] = functools.partial(
        _client, scope["AsyncOpenAI"], loopback_client(), call_retries
    )
    if "DefaultAsyncHttpxClient" in scope:
        scope["DefaultAsyncHttpxClient"] = lambda **_: None  # reads certificates each time
    return main


def _client(kind: Any, http: Any, retries: int, **options: Any) -> Any:
    """A client of `kind`, created as the program does, over shared connections."""
    identity = current.get()
    headers = {} if identity is None else identity.headers("policy")
    options.update(http_client=http, max_retries=retries, default_headers=headers)
    return kind(**options)


@contextlib.contextmanager
def _argv(words: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


_BLOCK = re.compile(r"^# dependencies = \[(.*?)\]$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"""["']([A-Za-z0-9._-]+)""")


def settle(spec: WorkerSpec) -> None:
    """Let verifiers find uv, or remove the access it where nothing can be fetched."""
    if spec.uv is not None:
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), spec.uv])
    if spec.offline or spec.socket:
        _use_own_packages()


async def prepare(names: list[str], environment: Any) -> None:
    """Set up the harnesses of the agents `names`; raises StageFailed("harness")."""
    for name in names:
        harness = environment._harnesses[name]  # noqa: SLF001 - same name from 0.3 on
        try:
            async with provisioned() as runtime:
                await harness.setup(runtime)
        except Exception as error:
            cause = BadArguments(f"`{harness.config.id}`: {error}")
            raise StageFailed("harness", cause) from error


def _use_own_packages() -> None:
    runtime_type = runtime_class()
    by_uv = runtime_type.prepare_uv_script

    async def prepare_uv_script(self: Any, script: Any, *given: Any, **named: Any) -> list[str]:
        text = script if isinstance(script, str) else script.decode()
        if not is_plain_subprocess(self) or not _are_installed(text):
            found: list[str] = await by_uv(self, script, *given, **named)
            return found
        path = f"{backend_of(self).scripts_dir}/{uuid.uuid5(uuid.NAMESPACE_OID, text)}.py"
        await self.write(path, text.encode())
        return [sys.executable, path]

    runtime_type.prepare_uv_script = prepare_uv_script


def _are_installed(script: str) -> bool:
    """Whether all packages that a script names are installed beside verifiers."""
    block = _BLOCK.search(script)
    try:
        for name in _NAME.findall(block[1]) if block else ():
            importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return block is not None


# --- Runtimes of verifiers --- Up to 0.4.0 each kind of runtime is a class of its own. From 0.4.1
# on `Runtime` is a view, with its own user and variables, of a backend that knows the folders and
# the machine's lifetime.


def runtime_class() -> Any:
    """The class that prepares scripts for a runtime on this machine."""
    from verifiers.v1 import runtimes

    return getattr(runtimes, "SubprocessRuntime", None) or runtimes.Runtime


def backend_of(runtime: Any) -> Any:
    """The backend of `runtime`, which knows its folders."""
    return getattr(runtime, "backend", runtime)


def is_plain_subprocess(runtime: Any) -> bool:
    """Whether `runtime` starts programs as this user with these variables on this machine."""
    bound = getattr(runtime, "user", None) or getattr(runtime, "env", None)
    return bool(runtime.type == "subprocess") and not bound


@contextlib.asynccontextmanager
async def provisioned() -> AsyncIterator[Any]:
    """A runtime on this machine, stopped at the end."""
    from verifiers.v1 import runtimes

    config, name = runtimes.SubprocessConfig(), f"prime-{uuid.uuid4().hex}"
    if hasattr(runtimes, "provision_runtime"):
        async with runtimes.provision_runtime(config, name) as runtime:
            yield runtime
        return
    runtime = runtimes.make_runtime(config, name=name)
    try:
        await runtime.start()
        yield runtime
    finally:
        await runtime.stop()
