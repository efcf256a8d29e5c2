"""The second half of the test of an interpreter: the environment loads, and has a first example.

Called by `try_import`, whose process ends afterwards. There is no model: clients that an
environment makes point to a port on which nothing listens.
"""

import asyncio
import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .environment import load_v0
from .failures import StageFailed, chain, classify, traceback_of
from .spec import WorkerSpec

LIBRARY = "verifiers"
NOWHERE = "http://127.0.0.1:9/v1"
_INSIDE = f"/site-packages/{LIBRARY}/"
_CALLED = re.compile(r"(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)\(\)")
_ABSTRACT = "Can't instantiate abstract class"
# What the library cannot be blamed for wherever it is raised.
_CIRCUMSTANCES = (
    OSError,
    EOFError,
    MemoryError,
    KeyboardInterrupt,
    SystemExit,
    asyncio.CancelledError,
)


def try_load(module: ModuleType, generation: str, name: str) -> dict[str, Any] | None:
    """Load with the default arguments and read one example; None if that works.

    Otherwise what was raised; `library`: another release of verifiers might not raise it, `task`:
    its cause is a text in the `task` column.
    """
    spec = WorkerSpec(
        module=module.__name__,
        env_id=name,
        model="none",
        base_url=NOWHERE,
        token="EMPTY",  # noqa: S106 - not a token, but a header must not be empty
        generation=generation,
        n=1,
    )
    asyncio.set_event_loop(asyncio.new_event_loop())
    try:
        # Lazy: the dependencies of the other generation may not be installed.
        worker = importlib.import_module(f".{generation}", __package__)
        if generation == "v1":
            worker.V1(spec, module)
            return None
        row = worker.read_examples(load_v0(spec, module), spec)[0]
    except StageFailed as failed:
        if failed.stage == "arguments":
            return None
        error = failed.error or failed
        return _described(error, library=failed.stage == "import" or _names_library(error))
    except Exception as error:
        return _described(error, library=_names_library(error))
    return _try_example(row)


def _try_example(row: dict[str, Any]) -> dict[str, Any] | None:
    """What 0.1.14 and later do first with a row; earlier ones take it as it is."""
    types = importlib.import_module(f"{LIBRARY}.types") if _has_types() else None
    flatten = getattr(types, "flatten_task_input", None)
    if flatten is None:
        return None
    try:
        flatten(row)
    except Exception as error:
        described = _described(error, library=True)
        return {**described, "task": isinstance(row.get("task"), str)}
    return None


def _has_types() -> bool:
    with contextlib.suppress(ImportError):
        return importlib.util.find_spec(f"{LIBRARY}.types") is not None
    return False


def _described(error: BaseException, *, library: bool) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "message": str(error),
        "library": library,
        "traceback": traceback_of(error),
    }


def _names_library(error: BaseException) -> bool:
    """Whether the failure is about the API of verifiers: its names, signatures or checks."""
    if isinstance(error, _CIRCUMSTANCES) or classify(error)[0] != "environment":
        return False
    return any(_is_about_library(link) for link in chain(error))


def _is_about_library(error: BaseException) -> bool:
    if isinstance(error, ImportError):
        return (error.name or "").split(".")[0] == LIBRARY
    if isinstance(error, AttributeError):
        # Before 3.12 a module does not say that it is the object.
        return f"module '{LIBRARY}" in str(error) or _is_of_library(getattr(error, "obj", None))
    if isinstance(error, TypeError):
        return _ABSTRACT in str(error) or _calls_library(str(error)) or _ends_inside(error)
    return _ends_inside(error)


def _is_of_library(subject: Any) -> bool:
    kind = subject if isinstance(subject, type) else type(subject)
    return any(base.__module__.split(".")[0] == LIBRARY for base in kind.__mro__)


def _calls_library(message: str) -> bool:
    """Whether `Rubric.__init__() got an unexpected keyword argument` is about verifiers."""
    called = _CALLED.search(message)
    return called is not None and (called[1] or called[2]) in set(_names_of_library())


def _names_of_library() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == LIBRARY:
            yield from (each for each in vars(module) if not each.startswith("_"))


def _ends_inside(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return _INSIDE in file.replace("\\", "/")
