"""The packages of harnesses that run as processes: prepared once, before a model is called.

Such a harness is a PEP 723 script, whose packages verifiers fetches by uv on first use. Without a
network the script runs on the environment's own packages where those have what it names, as they
have for verifiers' `bash` and `null`.
"""

import importlib.metadata
import os
import re
import sys
import uuid
from typing import Any

from .failures import BadArguments, StageFailed
from .runtimes import backend_of, is_plain_subprocess, provisioned, runtime_class
from .spec import Spec

_BLOCK = re.compile(r"^# dependencies = \[(.*?)\]$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"""["']([A-Za-z0-9._-]+)""")


def settle(spec: Spec) -> None:
    """Let verifiers find uv, or do without it where nothing can be fetched."""
    if spec.uv is not None:
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), spec.uv])
    if spec.offline or spec.socket:
        _use_own_packages()


async def prepare(names: list[str], environment: Any) -> None:
    """Do what the harnesses of the agents `names` do first; raises StageFailed("harness")."""
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
        if not is_plain_subprocess(self) or not _are_here(text):
            found: list[str] = await by_uv(self, script, *given, **named)
            return found
        path = f"{backend_of(self).scripts_dir}/{uuid.uuid5(uuid.NAMESPACE_OID, text)}.py"
        await self.write(path, text.encode())
        return [sys.executable, path]

    runtime_type.prepare_uv_script = prepare_uv_script


def _are_here(script: str) -> bool:
    """Whether all packages that a script names are installed beside verifiers."""
    block = _BLOCK.search(script)
    try:
        for name in _NAME.findall(block[1]) if block else ():
            importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return block is not None
