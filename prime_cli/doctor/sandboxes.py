"""Sandboxes of this machine: who can make them, what holds them, and what is left of them."""

import asyncio
import http.client
import json
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.core.formatting import join_words, pluralize
from prime_cli.core.paths import home_path
from prime_cli.doctor.base import CheckContext, Finding, ok, skipped, warned
from prime_cli.hub.compute.engine.entry import (
    ADDRESSES,
    NEEDED,
    PODMAN_INFO,
    describe_missing,
    find_engine,
    is_on_this_machine,
    missing_limits,
)
from prime_cli.hub.sandboxes.kubernetes.provider import KubernetesProvider
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.supervisor.connections import open_socket
from prime_cli.runtime.isolation.cgroups import (
    delegated_controllers,
    list_cgroups,
    make_cgroups,
    namespace_bounds_processes,
)
from prime_cli.runtime.isolation.sandbox import find_sandbox
from prime_cli.wire.sandboxes import DEFAULT_IMAGE, LIVE, SandboxQuery

_PROVIDERS, _LIMITS, _CLUSTER = "sandboxes", "limits", "kubernetes"
_SECONDS = 3.0
_HELD = ("memory", "cpu", "processes")
_SUBJECTS = {"pids": "processes"}
"""Of controllers that have another name than what they limit."""


def check_sandboxes(system: CheckContext) -> list[Finding]:
    """Findings for the providers, what they hold, and what runs or is left; starts nothing."""
    if sys.platform == "win32":
        return [skipped(_PROVIDERS, "There are no sandboxes on Windows; use WSL")]
    cluster = _check_cluster(system)
    return [*_check_machine(system), *([cluster] if cluster else [])]


def _check_machine(system: CheckContext) -> list[Finding]:
    """Of the providers on this machine."""
    engine, no_engine, engine_step = _find_engine(system)
    bubblewrap, no_bubblewrap = _find_bubblewrap()
    left = _left(system)
    if not (engine or bubblewrap):
        sentence = f"Environments that run code get no sandbox here: {no_engine}; {no_bubblewrap}"
        step = f"or {engine_step or 'start Podman or Docker'}"
        return [
            warned(_PROVIDERS, sentence, f"install bubblewrap (`apt install bubblewrap`), {step}")
        ]
    makers = " and ".join(each for each in (engine, bubblewrap) if each)
    sentence = f"{makers} can make sandboxes; {left or 'none is running'}"
    if left and left.startswith("remains"):
        found = warned(_PROVIDERS, sentence, "`prime gc`")
    elif engine_step:
        found = warned(_PROVIDERS, f"{sentence}; {no_engine}", engine_step)
    else:
        found = ok(_PROVIDERS, sentence)
    return [found, *(_limits(system) if bubblewrap else [])]


def _check_cluster(system: CheckContext) -> Finding | None:
    """Of the cluster, where one is to make sandboxes; None else."""
    if system.config is None or _CLUSTER not in system.config.sandboxes.value:
        return None
    if system.offline:
        return skipped(_CLUSTER, "Not asked: offline")
    try:
        return ok(_CLUSTER, f"{asyncio.run(_describe_cluster())} can make sandboxes")
    except PrimeError as error:
        return warned(_CLUSTER, error.message, error.hint or "`kubectl auth can-i create pods`")


async def _describe_cluster() -> str:
    provider = KubernetesProvider()
    try:
        return await provider.describe()
    finally:
        await provider.close()


def _find_engine(system: CheckContext) -> tuple[str | None, str, str]:
    """The engine that can make sandboxes; else why none can, and a step if there is one."""
    try:
        url = find_engine(system.environ)
    except UsageError as error:
        sentence = f"the container engine cannot be used ({error.message}; {error.hint})"
        return None, sentence, _start(system)
    if url is None:
        return None, "neither Podman nor Docker is running", ""
    name = f"the container engine at {url.removeprefix('unix://')}"
    try:
        missing = _ask_missing_limits(url)
    except (OSError, http.client.HTTPException, ValueError, msgspec.ValidationError) as error:
        return None, f"{name} does not answer ({error})", _start(system)
    if missing:
        return None, f"{name} makes none, since it {describe_missing(missing)}", NEEDED
    elsewhere = "" if is_on_this_machine(url) else f" ({_ELSEWHERE})"
    return f"{name}{elsewhere}", "", ""


def _ask_missing_limits(url: str) -> list[str]:
    info = _get(url, "/info")
    if info is None:
        raise ValueError("it has no `/info`, so it is not an engine")
    return missing_limits(info, _get(url, f"/{PODMAN_INFO}"))


def _get(url: str, path: str) -> Any:
    """What it answers, decoded; None if it has nothing there."""
    connection = _connection_to(url)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    return json.loads(content) if answer.status == http.client.OK else None


def _start(system: CheckContext) -> str:
    named = [name for name in ADDRESSES if system.environ.get(name)]
    return f"start it, or unset {named[0]}" if named else "start it"


_ELSEWHERE = "on another machine, so without the network `packages`, and `internet` is not filtered"


def _connection_to(url: str) -> http.client.HTTPConnection:
    if is_on_this_machine(url):
        connection = http.client.HTTPConnection("engine")
        connection.sock = open_socket(Path(url.removeprefix("unix://")), _SECONDS)
        return connection
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=_SECONDS)


def _find_bubblewrap() -> tuple[str | None, str]:
    if sys.platform != "linux":
        return None, "bubblewrap exists only on Linux"
    try:
        find_sandbox(Path(tempfile.gettempdir()), network=False)
    except UsageError as error:
        return None, error.message.replace("`--sandbox`", "it", 1)
    return "bubblewrap", ""


def _limits(system: CheckContext) -> list[Finding]:
    """What bubblewrap's sandboxes are held by, tried with a group of their kind."""
    held = set(asyncio.run(_tried()))
    if not held:
        held = {_SUBJECTS.get(each, each) for each in delegated_controllers(system.environ)}
    if namespace_bounds_processes():
        held.add("processes")
    missing = [each for each in _HELD if each not in held]
    if not missing:
        return [ok(_LIMITS, "Control groups limit the memory, CPU and processes of sandboxes")]
    return [
        warned(
            _LIMITS,
            f"Nothing limits {join_words(missing)} of bubblewrap's sandboxes, since control groups "
            "are not delegated to you; their disk and their time are limited",
            "log in to a system with systemd as this user, not by `su` or `sudo`, or use Podman",
        )
    ]


async def _tried() -> list[str]:
    tag = f"prime-doctor-{uuid.uuid4().hex[:12]}"
    groups = make_cgroups(SandboxSpec(tag, tag, DEFAULT_IMAGE, time.time() + 60))
    try:
        return list(groups.facts)
    finally:
        await groups.remove()


def _left(system: CheckContext) -> str | None:
    """The sandboxes of the embedded hub that run, and groups of those that do not."""
    data = home_path(system.home, "hub")
    if system.box is None or not (data / "sandboxes").exists():
        return None
    rows = list(system.box().sandboxes.page(SandboxQuery(per_page=1000)).sandboxes)
    live = {each.id.replace("-", "") for each in rows if each.status in LIVE}
    ended = {each.id.replace("-", "") for each in rows} - live
    left = sorted(tag for tag in list_cgroups("prime-") if tag.rpartition("-")[2] in ended)
    if left:
        return f"remains of {pluralize(len(left), 'sandbox', 'sandboxes')} that ended are there"
    return f"{len(live)} {'is' if len(live) == 1 else 'are'} running" if live else None
