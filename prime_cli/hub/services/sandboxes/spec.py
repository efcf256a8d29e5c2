"""What a creation asks for, checked, as the spec that a provider gets."""

import math
import platform
import re
import shlex
from datetime import timedelta
from typing import NoReturn

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.hub.context import Hub
from prime_cli.hub.sandboxes.indexes import Indexes, find_indexes
from prime_cli.hub.sandboxes.provider import LONGEST_COMMAND, SandboxSpec
from prime_cli.hub.settings import SandboxSettings
from prime_cli.wire.sandboxes import (
    DEFAULT_COMMAND,
    DEFAULT_IMAGE,
    INTERNET,
    MOST_LABELS,
    NETWORKS,
    NONE,
    PACKAGES,
    RUN_LABEL,
    SandboxCreation,
    StartCommand,
)

LONGEST_LIFE = timedelta(hours=24)
"""Of a sandbox; -1 minutes mean this."""

_MOST_VARIABLES = 1000
_MOST_CPUS, _MOST_GB = 64, 1024
_LONGEST_NAME = 200
_LEAST = 0.05
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DOMAIN = re.compile(r"(\*\.)?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*(:(80|443))?", re.ASCII)

_PIP = {"PIP_COMPILE": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Variables that leave compiling to the first import, as uv does: for scipy it is 12 of 15 seconds.

`PIP_NO_COMPILE` would not: pip sets `compile`, which is where that option is kept, to its value.
"""

_CLOUD = "Prime's cloud (`--context prime`)"

_NOT_HERE = {
    "gpu_count": ("GPUs", "rent a machine with `prime pods create`"),
    "gpu_type": ("GPUs", "rent a machine with `prime pods create`"),
    "volumes": ("volumes", f"upload the files with `prime sandbox upload`; {_CLOUD} has them"),
    "checkpoint_id": ("checkpoints", f"name an image, as `python:3.11-slim`; {_CLOUD} has them"),
    "registry_credentials_id": ("logins of registries", "log in the engine with `podman login`"),
    "region": ("regions, as it is one machine", f"omit the region; {_CLOUD} has them"),
    "guaranteed": ("guaranteed capacity", f"omit it; {_CLOUD} has it"),
}
"""What no provider of a hub has, and what to do instead."""


def check_creation(creation: SandboxCreation) -> None:
    """Raise UsageError for the first wish that no provider of a hub can meet, and who can."""
    for field, (what, hint) in _NOT_HERE.items():
        if getattr(creation, field):
            _refuse(f"Sandboxes of this hub have no {what}", field, hint)
    check_denylist(creation.network_denylist)
    if creation.arch and creation.arch != (ours := _architecture()):
        hint = f"omit it; {_CLOUD} has others"
        _refuse(f"Sandboxes of this hub have its machine's architecture, {ours}", "arch", hint)
    for field, most in (
        ("cpu_cores", _MOST_CPUS),
        ("memory_gb", _MOST_GB),
        ("disk_size_gb", _MOST_GB),
    ):
        value: float = getattr(creation, field)
        if not (math.isfinite(value) and _LEAST <= value <= most):
            _refuse(f"`{field}` must be from {_LEAST} to {most}", field)
    _check_times(creation)
    _check_texts(creation)


def _architecture() -> str:
    """The machine's, by the names that images use."""
    machine = platform.machine().lower()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def check_denylist(entries: list[str] | None) -> None:
    """Raise UsageError for a list of what is not to be reached; an empty one denies nothing."""
    if entries:
        _refuse(
            "Sandboxes of this hub cannot block single hosts",
            "network_denylist",
            f"list the hosts that are allowed, or use the network `none`; {_CLOUD} can",
        )


def _check_times(creation: SandboxCreation) -> None:
    longest = int(LONGEST_LIFE.total_seconds() / 60)
    if creation.timeout_minutes != -1 and creation.timeout_minutes < 1:
        _refuse("`timeout_minutes` must be 1 or more, or -1", "timeout_minutes")
    if creation.timeout_minutes > longest:
        _refuse(f"A sandbox of this hub lives for at most {longest} minutes", "timeout_minutes")
    idle = creation.idle_timeout_minutes
    if idle is not None and idle < 1:
        _refuse("`idle_timeout_minutes` must be 1 or more", "idle_timeout_minutes")


def _check_texts(creation: SandboxCreation) -> None:
    if len(creation.labels) > MOST_LABELS:
        _refuse(f"A sandbox has at most {MOST_LABELS} labels", "labels")
    for label in creation.labels:
        if not label or len(label) > _LONGEST_NAME or not label.isprintable():
            _refuse(f"`{label[:80]!r}` cannot be a label", "labels")
    if len(creation.environment_vars) + len(creation.secrets) > _MOST_VARIABLES:
        _refuse(f"A sandbox has at most {_MOST_VARIABLES} variables", "environment_vars")
    variables = {**creation.environment_vars, **creation.secrets}
    if sum(len(name) + len(value) for name, value in variables.items()) > LONGEST_COMMAND // 2:
        sentence = f"The variables of a sandbox have at most {LONGEST_COMMAND // 2} characters"
        _refuse(sentence, "environment_vars", "upload a file with `prime sandbox upload`")
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            _refuse(f"`{name[:80]}` cannot be the name of a variable", "environment_vars")
    name = creation.name or ""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        _refuse(f"A name has at most {_LONGEST_NAME} printable characters", "name")


def read_network(options: SandboxSettings, creation: SandboxCreation) -> str:
    """The level of network; raises UsageError."""
    if creation.network is not None:
        if creation.network not in NETWORKS:
            _refuse(
                f"`{creation.network[:80]}` is not a network", "network", f"write {_or(NETWORKS)}"
            )
        level = creation.network
    elif creation.network_access is False or creation.network_allowlist == []:
        level = NONE
    elif creation.network_allowlist:
        level = PACKAGES
    else:
        level = options.network
    if level == INTERNET and creation.network_allowlist:
        _refuse("Give `network` or `network_allowlist`", "network_allowlist")
    return level


def read_hosts(
    creation: SandboxCreation, indexes: Indexes
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The package indexes that a sandbox reaches, and what its list names besides.

    Without a list all indexes; with one those of its hosts alone. Raises UsageError.
    """
    if not creation.network_allowlist:
        return indexes.hosts, ()
    found: list[str] = []
    for each in creation.network_allowlist:
        entry = each.strip().lower().rstrip(".")
        if entry in indexes.hosts:
            found.append(entry)
            continue
        if not _DOMAIN.fullmatch(entry) or re.fullmatch(r"[0-9.]+(:[0-9]+)?", entry):
            _refuse(
                f"`{each[:80]}` is not the name of a host: sandboxes of this hub reach hosts by "
                "their names, not addresses or ranges of them",
                "network_allowlist",
                f"name hosts, such as `pypi.org` or `*.example.org`; {_CLOUD} takes both",
            )
        found += [entry] if ":" in entry else [f"{entry}:443", f"{entry}:80"]
    here = [each for each in found if each in indexes.hosts]
    return tuple(here), tuple(each for each in found if each not in here)


def make_spec(
    hub: Hub,
    options: SandboxSettings,
    creation: SandboxCreation,
    *,
    owner: str,
    tag: str,
    sandbox_id: str,
) -> SandboxSpec:
    """The spec for a provider; raises UsageError."""
    network = read_network(options, creation)
    indexes = find_indexes() if network == PACKAGES else Indexes()
    hosts, public = read_hosts(creation, indexes) if network == PACKAGES else ((), ())
    minutes = creation.timeout_minutes
    life = LONGEST_LIFE if minutes == -1 else timedelta(minutes=minutes)
    idle = creation.idle_timeout_minutes
    return SandboxSpec(
        tag=tag,
        id=sandbox_id,
        image=creation.docker_image or DEFAULT_IMAGE,
        stop_at=(hub.settings.clock() + life).timestamp(),
        cpu_cores=creation.cpu_cores,
        memory_gb=creation.memory_gb,
        disk_size_gb=creation.disk_size_gb,
        network=network,
        hosts=hosts,
        public_hosts=public,
        folders=indexes.folders,
        variables={**_PIP, **indexes.variables, **creation.environment_vars, **creation.secrets},
        start=read_start(creation.start_command),
        idle_seconds=None if idle is None else idle * 60.0,
        process=_read_process(options, creation),
        labels={"owner": owner, **_find_run(creation)},
    )


def _find_run(creation: SandboxCreation) -> dict[str, str]:
    """The run that it is for, if it is for one."""
    for each in creation.labels:
        if each.startswith(RUN_LABEL):
            return {"run": each.removeprefix(RUN_LABEL)}
    return {}


def read_start(command: str | StartCommand | None) -> tuple[str, ...]:
    """The words of a start command; none for the default, which does nothing."""
    if command is None or command == DEFAULT_COMMAND:
        return ()
    if isinstance(command, str):
        return ("/bin/sh", "-c", command)
    words = (command.executable, *command.args)
    return () if shlex.join(words) == DEFAULT_COMMAND else words


def _read_process(options: SandboxSettings, creation: SandboxCreation) -> int | None:
    pid = creation.process
    if pid is None:
        return None
    if not options.is_own:
        _refuse("Only the hub of a command knows processes of its machine", "process")
    import psutil  # As in `creation`.

    if not psutil.pid_exists(pid):
        _refuse(f"There is no process {pid}", "process")
    return pid


def request_column(creation: SandboxCreation, spec: SandboxSpec) -> str:
    """What of a creation is kept: nothing that may be a secret."""
    kept = msgspec.structs.replace(
        creation,
        environment_vars={},
        secrets={},
        advanced_configs=None,
        idempotency_key=None,
        labels=sorted(set(creation.labels)),
        network=spec.network,
        network_allowlist=list(spec.reached) if spec.network == PACKAGES else None,
    )
    return msgspec.json.encode(kept).decode()


def name_of(creation: SandboxCreation, sandbox_id: str) -> str:
    """Its name, made from its id if it has none."""
    return creation.name or f"sandbox-{sandbox_id[:8]}"


def _or(words: tuple[str, ...]) -> str:
    return ", ".join(words[:-1]) + f" or {words[-1]}"


def _refuse(sentence: str, param: str, hint: str | None = None) -> NoReturn:
    raise UsageError(sentence, hint=hint, param=param)
