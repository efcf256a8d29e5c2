"""verifiers' runtimes: where the program of an agent runs, in the shape that each release has.

Up to 0.4.0 each kind of runtime is a class of its own. From 0.4.1 on `Runtime` is a view, with a
user and variables of its own, of a backend that knows the folders and the life of the machine.
"""

import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any


def runtime_class() -> Any:
    """The class that prepares scripts for a runtime which is this machine."""
    from verifiers.v1 import runtimes

    return getattr(runtimes, "SubprocessRuntime", None) or runtimes.Runtime


def backend_of(runtime: Any) -> Any:
    """What knows the folders of `runtime`."""
    return getattr(runtime, "backend", runtime)


def is_plain_subprocess(runtime: Any) -> bool:
    """Whether `runtime` starts programs as this user with these variables on this machine."""
    bound = getattr(runtime, "user", None) or getattr(runtime, "env", None)
    return bool(runtime.type == "subprocess") and not bound


@contextlib.asynccontextmanager
async def provisioned() -> AsyncIterator[Any]:
    """A runtime which is this machine, ended at the end."""
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
