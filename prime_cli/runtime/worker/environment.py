"""An environment's module: import it, call its `load_environment`, ask its oracle."""

import asyncio
import importlib
import importlib.metadata
import inspect
import json
from collections.abc import Callable, Collection, Iterable
from types import ModuleType
from typing import Any

from .channel import Events
from .failures import BadArguments, StageFailed
from .guards import Handlers
from .jsonable import plain
from .spec import WorkerSpec


def installed_version(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def top_level_modules(name: str) -> set[str]:
    """The import names of the installed distribution `name`; empty if unknown."""
    try:
        files = importlib.metadata.files(name) or ()
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return set()
    return {file.parts[0].removesuffix(".py") for file in files if file.suffix == ".py"}


def import_module(name: str) -> ModuleType:
    """Import the module; whatever it raises, even SystemExit, fails the stage "import"."""
    with Handlers():
        try:
            return importlib.import_module(name)
        except BaseException as error:
            raise StageFailed("import", error) from error


def load_v0(spec: WorkerSpec, module: Any) -> Any:
    """The environment from `load_environment(**args)`, with the attributes `extra`."""
    load = getattr(module, "load_environment", None)
    if load is None:
        error = AttributeError(f"module {module.__name__!r} has no load_environment")
        raise StageFailed("import", error)
    add_split(load, spec)
    check_arguments(load, spec.args)
    with Handlers():
        try:
            environment = _call(load, spec)
            _set_extra(environment, spec.extra)
        except BaseException as error:
            raise StageFailed("load", error) from error
    return environment


SPLITS = (
    "split eval_split dataset_split eval_dataset_split dataset_eval_split test_split "
    "dataset_test_split"
).split()
"""Arguments of environments that name the split of the data to evaluate on."""
OWN_SPLITS = ("train", "eval")
"""The two datasets that a v0 environment has itself."""


def add_split(load: Callable[..., Any], spec: WorkerSpec) -> None:
    """Pass the flag `--split` as the argument that is meant for it.

    An environment without such an argument has OWN_SPLITS. Raises StageFailed("arguments").
    """
    wanted = spec.options.get("split")
    if wanted is None:
        return
    try:
        parameters = set(inspect.signature(load).parameters)
    except (TypeError, ValueError):
        parameters = set()
    named = next((name for name in SPLITS if name in parameters), None)
    if named in spec.args:
        problem = f"`{named}` is given with `-a`, and again with `--split`"
        raise StageFailed("arguments", BadArguments(problem))
    if named is not None:
        spec.args = {**spec.args, named: wanted}
        spec.said.append(f"The split `{wanted}` is passed to load_environment as `{named}`")
    elif wanted in OWN_SPLITS:
        spec.own_split = wanted
    else:
        problem = f"load_environment takes no split: there are `train` and `eval`, not `{wanted}`"
        raise StageFailed("arguments", BadArguments(problem))


def check_arguments(load: Callable[..., Any], given: Collection[str]) -> None:
    """Raise StageFailed("arguments") for keywords that are missing or unknown."""
    try:
        parameters = inspect.signature(load).parameters.values()
    except (TypeError, ValueError):
        return
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [p.name for p in named if p.default is p.empty and p.name not in given]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    unknown = [] if takes_any else sorted(set(given) - {p.name for p in named})
    if missing:
        problem = f"load_environment needs {_list(missing)}"
    elif unknown:
        problem = f"load_environment does not take {_list(unknown)}"
    else:
        return
    others = [f"{p.name}={p.default!r}" for p in named if p.default is not p.empty]
    required = [p.name for p in named if p.default is p.empty]
    known = ", ".join(required + others) or "nothing"
    raise StageFailed("arguments", BadArguments(f"{problem} (it takes: {known})"))


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _call(load: Callable[..., Any], spec: WorkerSpec) -> Any:
    """Load through verifiers, which knows typed configs, and unwrap its errors."""
    import verifiers

    loader = getattr(verifiers, "load_environment", None)
    if loader is None or "env_id" in spec.args:
        environment = load(**spec.args)
    else:
        try:
            environment = loader(spec.module, **spec.args)
        except (RuntimeError, ValueError) as error:
            inner = error.__cause__
            if inner is not None:
                # What it was raised from stays: that is the reason.
                raise inner from (inner.__cause__ or inner.__context__)
            raise
    if getattr(environment, "env_id", None) == spec.module:
        environment.env_id = spec.env_id
    return environment


def _set_extra(environment: Any, extra: dict[str, Any]) -> None:
    if not extra:
        return
    if hasattr(environment, "set_kwargs"):
        environment.set_kwargs(**extra)
        return
    for name, value in extra.items():
        setattr(environment, name, value)


def places_of(functions: Iterable[Any]) -> dict[str, tuple[str, int]]:
    """{name of a function: (its file, below its library's folder; its line)}, where known."""
    found: dict[str, tuple[str, int]] = {}
    for function in functions:
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            file = code.co_filename.rpartition("site-packages/")[2]
            found.setdefault(function.__name__, (file, code.co_firstlineno))
    return found


# --- Oracle ---
# `oracle(messages, *, answer, info) -> str | dict` in the environment's module.

Gold = Callable[[int], tuple[Any, Any]]


class Oracle:
    """Answers the parent's questions with the environment's function, several at a time."""

    def __init__(self, module: Any, gold: Gold, events: Events) -> None:
        self._function = getattr(module, "oracle", None)
        if not callable(self._function):
            self._function = None
        self._gold = gold
        self._events = events
        self._answering: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        return self._function is not None

    def ask(self, question: dict[str, Any]) -> None:
        """Start answering `question`; the reply goes out as an event."""
        task = asyncio.create_task(self._reply(question))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, question: dict[str, Any]) -> None:
        try:
            message = await self._answer(question)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            text = f"{type(error).__name__}: {error}"
            self._events.send("oracle", id=question["id"], message=None, error=text)
        else:
            self._events.send("oracle", id=question["id"], message=message, error=None)

    async def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._function is None:
            raise LookupError("the environment has no oracle")
        answer, info = self._gold(question["example"])
        options = {"answer": answer, "info": info, "tools": question.get("tools") or []}
        reply = self._function(question["messages"], **_taken(self._function, options))
        if inspect.isawaitable(reply):
            reply = await reply
        return to_message(reply)


def to_message(reply: Any) -> dict[str, Any]:
    """An oracle's answer as an assistant message in OpenAI's shape."""
    if not isinstance(reply, dict):
        return {"role": "assistant", "content": str(reply)}
    message = {"role": "assistant", "content": None, **plain(reply)}
    for number, call in enumerate(message.get("tool_calls") or []):
        call.setdefault("id", f"call_{number}")
        call.setdefault("type", "function")
        function = call.setdefault("function", {})
        if not isinstance(function.get("arguments", ""), str):
            function["arguments"] = json.dumps(function["arguments"])
    return message


def _taken(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Those of `options` that the function has parameters for."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}
