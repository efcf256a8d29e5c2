"""verifiers' own `null` harness, without a process for each rollout.

Its program is a PEP 723 script, a chat loop, that verifiers starts by uv: 1.2 s of CPU and 50 MB
for each rollout. Here the very same text runs as a coroutine, with the very same arguments; all
that it is given is a client which shares its connections. So messages, tools, compaction, the end
at a full context, and exit codes are those of the release. A release whose program is of another
shape gets its processes.
"""

import contextlib
import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from .client import loopback_client
from .identity import current
from .runtimes import backend_of, is_plain_subprocess

SOURCES = ("CHAT_PROGRAM_SOURCE", "PROGRAM_SOURCE")
"""The script's name in the harness's module: from 0.4 on, and up to 0.3."""
MESSAGES_FILE = "--initial-messages-file="

arguments: ContextVar[list[str]] = ContextVar("prime_program_arguments")


def run_in_process(call_retries: int) -> bool:
    """Make `null` run its program here, in a runtime that is this machine; whether it can be."""
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
        here = is_plain_subprocess(runtime) and not self.config.resolved_env
        place = _Here(runtime, source, program) if here else runtime
        return await by_process[1](self, ctx, trace, place, *given, **named)

    null.setup, null.launch = setup, launch
    return True


class _Here:
    """A runtime, but for one script, which is run in this process."""

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

        del env  # what the harness's own `env` adds, which is nothing here
        arguments.set([self._placed(word) for word in argv])
        try:
            await self._program()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
            return ProgramResult(code, "", _traceback(leaving))
        except Exception as error:
            return ProgramResult(1, "", _traceback(error))
        return ProgramResult(0, "", "")

    run = run_program

    def _placed(self, word: str) -> str:
        """`word` with a path of the runtime's folder as one of this process."""
        if not word.startswith(MESSAGES_FILE):
            return word
        return f"{MESSAGES_FILE}{backend_of(self._runtime).workdir / word[len(MESSAGES_FILE) :]}"


def _load(source: str, call_retries: int) -> Callable[[], Any] | None:
    """The `main` of the program, or None where it cannot be run here."""
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
    """A client of `kind` as the program makes it, over shared connections."""
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
