"""What a hub and its supervisor of sandboxes share: files, variables, and messages.

The messages are HTTP on a Unix socket. Paths below `inside/{tag}/` are those of the gateway of the
sandbox API, with its bodies.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.core.paths import is_short, own_socket
from prime_cli.hub.compute.engine.entry import ADDRESSES
from prime_cli.hub.sandboxes.kubernetes.settings import VARIABLES
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.wire.sandboxes import PENDING

# --- Messages ---


class ObservedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a sandbox; times are seconds since the epoch.

    `facts` are what its provider guarantees, by subject, and `generation` counts how often its
    network was set. One that `is_refused` could never be made;
    then there is a `hint`.
    """

    status: str = PENDING
    error_type: str | None = None
    error_message: str | None = None
    hint: str | None = None
    is_refused: bool = False
    exit_code: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    facts: dict[str, str] = {}
    generation: int = 1


class CreateRequest(msgspec.Struct, frozen=True):
    """`POST /sandboxes`: waits up to `seconds` until it runs; `variables` as in CheckRequest."""

    provider: str
    spec: SandboxSpec
    seconds: float = 2.0
    variables: dict[str, str] | None = None


class EndRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """`POST /sandboxes/{tag}/end`: its final status, and the reason."""

    status: str
    error_type: str | None = None
    error_message: str | None = None


class NetworkChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """`PUT /sandboxes/{tag}/network`: what it may reach, as in SandboxSpec."""

    network: str
    hosts: tuple[str, ...] = ()
    public_hosts: tuple[str, ...] = ()
    variables: dict[str, str] = {}


class CheckRequest(msgspec.Struct, frozen=True):
    """`POST /check`: the first of `providers` that can make it.

    `variables` are the caller's that lead to an engine or a cluster.
    """

    providers: list[str]
    spec: SandboxSpec
    variables: dict[str, str] | None = None


class CheckResult(msgspec.Struct, frozen=True):
    """The provider, and how the sandbox would differ from the request.

    A supervisor that `is_ending` was started with other variables and holds nothing: ask the next
    one.
    """

    provider: str
    differs: list[str] = []
    is_ending: bool = False


class Log(msgspec.Struct, frozen=True):
    """`GET /sandboxes/{tag}/log`."""

    log: str


class Orphans(msgspec.Struct, frozen=True):
    """`GET /found?prefix=&providers=`: the tags that providers hold anything under, by provider.

    `failures` are the reasons of remote providers that could not be asked.
    """

    tags: dict[str, list[str]] = {}
    failures: dict[str, str] = {}


# --- Files ---


@dataclass(frozen=True)
class SupervisorPaths:
    """The folder `sandboxes` of a hub's data.

    lock         held by the supervisor        <tag>.json, <tag>.log   of sandboxes that ended
    socket       where it listens              log                     its output
    """

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def socket(self) -> Path:
        """Where it listens; in a folder of this user's own if the usual path is too long."""
        usual = self.folder / "socket"
        if is_short(usual):
            return usual
        return own_socket(self.folder)


# --- Variables ---

_NAMES = (*ADDRESSES, *VARIABLES)


def leading_variables() -> dict[str, str]:
    """The variables of this process that lead to an engine or a cluster."""
    return {name: os.environ[name] for name in _NAMES if os.environ.get(name)}


def describe_change(asked: Mapping[str, str] | None) -> str | None:
    """How a caller's variables differ from this process's, and what to do; None if they do not."""
    own = leading_variables()
    changed = [name for name in _NAMES if asked is not None and asked.get(name) != own.get(name)]
    if not changed:
        return None
    has, takes = ("has", "takes") if len(changed) == 1 else ("have", "take")
    return (
        f"{' and '.join(changed)} {has} changed since its supervisor was started, and {takes} "
        "effect when no sandbox is left: `prime sandbox delete --all`"
    )
