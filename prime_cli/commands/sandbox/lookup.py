"""Sandboxes by what a person types, and what is shown of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
import typer
from msgspec import UNSET, UnsetType

from prime_cli.client.api.client import HubClient
from prime_cli.commands.pods.tables import countdown
from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.formatting import first_few
from prime_cli.core.secret_detection import is_secret_name
from prime_cli.wire.sandboxes import LIVE, Sandbox, SandboxQuery, StartCommand

SandboxArg = Annotated[
    str, typer.Argument(metavar="SANDBOX", help="A name, an id, or the start of an id.")
]

_HIDDEN = "********"
_MOST = 1000
"""On a page of the hub."""
_SHOWN = 5


def find_sandbox(hub: HubClient, word: str) -> Sandbox:
    """The sandbox that `word` means, or else the last of those that have ended.

    Raises NotFound, or Conflict if it means several.
    """
    try:
        return hub.sandboxes.get(word)
    except NotFound:
        live = hub.sandboxes.all(SandboxQuery(is_active=True, per_page=_MOST))
        found = [each for each in live if each.name == word or each.id.startswith(word)]
    return _only(word, found) if found else _find_ended(hub, word)


def _find_ended(hub: HubClient, word: str) -> Sandbox:
    """Among the newest; names are used again, so the last with this one is meant."""
    page = hub.sandboxes.page(SandboxQuery(per_page=_MOST))
    named = [each for each in page.sandboxes if each.name == word]
    if named:
        return max(named, key=lambda each: each.created_at)
    begun = [each for each in page.sandboxes if each.id.startswith(word)]
    if begun:
        return _only(word, begun)
    if page.has_next:
        raise NotFound(
            f"There is no sandbox `{word}` among the newest {_MOST:,}", hint="give its whole id"
        )
    raise NotFound(f"There is no sandbox `{word}`", hint="see `prime sandbox list --all`")


def _only(word: str, found: Sequence[Sandbox]) -> Sandbox:
    if len(found) == 1:
        return found[0]
    shown = first_few([f"{each.id} ({each.name})" for each in found], _SHOWN)
    raise Conflict(
        f"`{word}` means {len(found)} sandboxes: {shown}",
        hint="use an id, or more of it",
    )


def find_living(hub: HubClient, word: str) -> Sandbox:
    """As find_sandbox; raises Conflict with how it ended if it has."""
    found = find_sandbox(hub, word)
    if found.status not in LIVE:
        why = found.error_message or found.termination_reason
        raise Conflict(
            f"The sandbox `{word}` has ended ({found.status}{f': {why}' if why else ''})",
            hint="create another with `prime sandbox create`",
        )
    return found


def ids_of(hub: HubClient, words: Sequence[str]) -> list[str]:
    """The ids of what `words` mean; raises as find_sandbox."""
    return [find_sandbox(hub, word).id for word in words]


def parse_pairs(words: Sequence[str], flag: str) -> dict[str, str]:
    """{name: value} of `NAME=VALUE` words; raises UsageError."""
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise UsageError(f"`{flag} {name}` has no value", hint=f"write `{flag} NAME=VALUE`")
    return {name: value for name, _, value in pairs}


def size_text(sandbox: Sandbox) -> str:
    """`1CPU/2GB`, and its GPUs."""
    gpus = f"/{sandbox.gpu_count}GPU" if sandbox.gpu_count else ""
    return f"{sandbox.cpu_cores:g}CPU/{sandbox.memory_gb:g}GB{gpus}"


def describe_reach(allowed: Sequence[str] | None, denied: Sequence[str] | None) -> str:
    """What a sandbox reaches, by its lists of hosts."""
    if allowed is not None:
        return ", ".join(allowed) or "nothing"
    return f"all but {', '.join(denied)}" if denied else "the Internet"


def left_text(sandbox: Sandbox) -> str:
    """How long it has left."""
    if sandbox.status not in LIVE:
        return "-"
    until = sandbox.expires_at
    return countdown(until, datetime.now(UTC)) if until else f"{sandbox.timeout_minutes}m"


class ListedSandbox(msgspec.Struct, frozen=True):
    """A row of `list`, with the official client's names."""

    id: str
    name: str
    image: str
    status: str
    resources: str
    region: str | None
    labels: list[str]
    created_at: str
    timeout_minutes: int
    expires_at: str | UnsetType = UNSET


def listed(sandbox: Sandbox) -> ListedSandbox:
    """A sandbox among others."""
    return ListedSandbox(
        id=sandbox.id,
        name=sandbox.name,
        image=sandbox.docker_image,
        status=sandbox.status,
        resources=size_text(sandbox),
        region=sandbox.region,
        labels=sandbox.labels,
        created_at=sandbox.created_at,
        timeout_minutes=sandbox.timeout_minutes,
        expires_at=sandbox.expires_at or UNSET,
    )


class SandboxDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One sandbox, with the official client's names, without what is unknown from `started_at` on.

    Sizes are in GB. Values of secrets are not shown.
    """

    id: str
    name: str
    type: Literal["VM", "container"]
    docker_image: str
    start_command: str | StartCommand | None
    status: str
    cpu_cores: float
    memory_gb: float
    disk_size_gb: float
    disk_mount_path: str
    gpu_count: int
    gpu_type: str | None
    network_allowlist: list[str] | None
    network_denylist: list[str] | None
    timeout_minutes: int
    idle_timeout_minutes: int | None
    termination_reason: str | None
    labels: list[str]
    created_at: str
    user_id: str | None
    team_id: str | None
    region: str | None
    started_at: str | UnsetType = UNSET
    terminated_at: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    error_type: str | UnsetType = UNSET
    error_message: str | UnsetType = UNSET
    environment_vars: dict[str, Any] | UnsetType = UNSET
    secrets: dict[str, str] | UnsetType = UNSET
    advanced_configs: dict[str, Any] | UnsetType = UNSET


_SOMETIMES = ("started_at", "terminated_at", "exit_code", "error_type", "error_message")
_MADE = ("type", "environment_vars", "secrets", "advanced_configs")
_ALWAYS = frozenset(SandboxDetails.__struct_fields__) - {*_SOMETIMES, *_MADE}


def detailed(sandbox: Sandbox) -> SandboxDetails:
    """A sandbox by itself."""
    known = {
        name: value
        for name, value in msgspec.structs.asdict(sandbox).items()
        if name in _ALWAYS or (name in _SOMETIMES and value is not None)
    }
    return SandboxDetails(
        **known,
        type="VM" if sandbox.vm else "container",
        environment_vars=_variables(sandbox.environment_vars or {}) or UNSET,
        secrets=dict.fromkeys(sandbox.secrets or {}, _HIDDEN) or UNSET,
        advanced_configs=sandbox.advanced_configs or UNSET,
    )


def _variables(variables: dict[str, str]) -> dict[str, str]:
    return {name: _HIDDEN if is_secret_name(name) else value for name, value in variables.items()}
