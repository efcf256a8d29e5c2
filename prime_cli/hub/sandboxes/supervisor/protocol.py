"""What a hub and its supervisor of sandboxes say to each other, over HTTP on a Unix socket.

Paths below `inside/{tag}/` are those of the gateway of the sandbox API, with its bodies.
"""

import msgspec

from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.wire.sandboxes import PENDING


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


class Creation(msgspec.Struct, frozen=True):
    """`POST /sandboxes`: waits for up to `seconds` until it runs; `variables` as in Check."""

    provider: str
    spec: SandboxSpec
    seconds: float = 2.0
    variables: dict[str, str] | None = None


class Ending(msgspec.Struct, frozen=True, omit_defaults=True):
    """`POST /sandboxes/{tag}/end`: the status and the reason that it is to have."""

    status: str
    error_type: str | None = None
    error_message: str | None = None


class NetworkChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """`PUT /sandboxes/{tag}/network`: what it is to reach, as in SandboxSpec."""

    network: str
    hosts: tuple[str, ...] = ()
    public_hosts: tuple[str, ...] = ()
    variables: dict[str, str] = {}


class Check(msgspec.Struct, frozen=True):
    """`POST /check`: which of `providers` is the first that can make it?

    `variables` are the caller's that lead to an engine or a cluster.
    """

    providers: list[str]
    spec: SandboxSpec
    variables: dict[str, str] | None = None


class Checked(msgspec.Struct, frozen=True):
    """The provider, and what would differ from what is asked for.

    A supervisor that `is_ending` was started with other variables and holds nothing; the next one
    is to be asked.
    """

    provider: str
    differs: list[str] = []
    is_ending: bool = False


class Log(msgspec.Struct, frozen=True):
    """`GET /sandboxes/{tag}/log`."""

    log: str


class Found(msgspec.Struct, frozen=True):
    """`GET /found?prefix=&providers=`: tags under which a provider has anything, by provider.

    `failures` are why those elsewhere could not say.
    """

    tags: dict[str, list[str]] = {}
    failures: dict[str, str] = {}
