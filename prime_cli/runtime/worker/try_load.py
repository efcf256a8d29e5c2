"""The second half of the test of an interpreter: the environment loads, and has a first example.

Called by `try_import`, whose process ends afterwards. There is no model: clients that an
environment makes point to a port on which nothing listens.
"""

import asyncio
import contextlib
import importlib
import importlib.util
from types import ModuleType
from typing import Any

from .blame import LIBRARY, is_about_library
from .environment import load_v0
from .failures import StageFailed, chain, classify, traceback_of
from .spec import WorkerSpec

NOWHERE = "http://127.0.0.1:9/v1"
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
    return any(is_about_library(link) for link in chain(error))
