"""A provider at a scripted cluster, for one test."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from prime_cli.core.errors import PrimeError
from prime_cli.hub.sandboxes.kubernetes.provider import KubernetesProvider
from prime_cli.hub.sandboxes.output import merged
from prime_cli.hub.sandboxes.provider import ExecSpec, RunningSandbox, SandboxSpec
from tests.helpers.kubernetes import ScriptedCluster

T = TypeVar("T")
TAG = "prime-0000002a-00000000000000000000000000000001"


def a_spec(**values: Any) -> SandboxSpec:
    """A sandbox without a network."""
    asked = {"tag": TAG, "id": "1", "image": "python:3.11", "stop_at": time.time() + 600}
    return SandboxSpec(**{**asked, "network": "none", "disk_size_gb": 1, **values})


def with_provider(
    work: Callable[[KubernetesProvider], Awaitable[T]], place_seconds: float = 20.0
) -> T:
    """What `work` returns, with a provider whose connections are closed after it."""

    async def run() -> T:
        provider = KubernetesProvider(place_seconds)
        try:
            async with asyncio.timeout(60):
                return await work(provider)
        finally:
            await provider.close()

    return asyncio.run(run())


@asynccontextmanager
async def created(
    provider: KubernetesProvider, spec: SandboxSpec | None = None
) -> AsyncIterator[RunningSandbox]:
    """A sandbox, which is ended with the block."""
    sandbox = await provider.create(spec or a_spec())
    try:
        yield sandbox
    finally:
        await sandbox.end()


async def output_of(
    sandbox: RunningSandbox, *argv: str, send: bytes | None = None, **values: Any
) -> tuple[int, bytes, bytes]:
    """The exit code, stdout and stderr of a command."""
    command = await sandbox.run(ExecSpec(argv, stdin=send is not None, **values))
    if command.stdin is not None:
        command.stdin.write(send or b"")
        await command.stdin.drain()
        command.stdin.close()
    found = {1: b"", 2: b""}
    async for number, chunk in merged(command):
        found[number] += chunk
    code = await command.wait()
    command.close()
    return code, found[1], found[2]


def configure(monkeypatch: Any, cluster: ScriptedCluster, folder: Path, **variables: str) -> None:
    """Have this process use the cluster, and no other."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(folder)))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def failure_of(spec: SandboxSpec | None = None, place_seconds: float = 20.0) -> PrimeError:
    """The error of a creation."""

    async def work(provider: KubernetesProvider) -> PrimeError:
        with pytest.raises(PrimeError) as caught:
            await provider.create(spec or a_spec())
        return caught.value

    return with_provider(work, place_seconds)


def refusal_of(spec: SandboxSpec) -> PrimeError:
    """The error of a check."""

    async def work(provider: KubernetesProvider) -> PrimeError:
        with pytest.raises(PrimeError) as caught:
            await provider.check(spec, may_fetch=True)
        return caught.value

    return with_provider(work)
