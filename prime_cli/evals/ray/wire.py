"""What this process, the program that talks to Ray, and the workers on nodes say to each other.

One JSON object per line or message. Nothing of it holds a key but `Access`, which a node fetches
over TLS (`keys.py`) and which Ray never sees.
"""

from typing import Any, TypeVar

import msgspec

from prime_cli.core import errors
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.prices import Price
from prime_cli.models.providers import EndpointSecret, KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.rows import SpentBy
from prime_cli.runtime.protocol import Cancel, Finish, RunRollouts
from prime_cli.wire.locks import Lock

T = TypeVar("T")


class Problem(msgspec.Struct, frozen=True):
    """A PrimeError on its way."""

    kind: str
    message: str
    hint: str | None = None
    detail: str | None = None

    @classmethod
    def of(cls, error: errors.PrimeError) -> "Problem":
        """`error` as sent."""
        return cls(type(error).__name__, error.message, error.hint, error.detail)

    def error(self) -> errors.PrimeError:
        """What was sent; of an unknown kind it is the environment's."""
        kind = getattr(errors, self.kind, errors.EnvironmentFailed)
        found: errors.PrimeError = kind(self.message, hint=self.hint, detail=self.detail)
        return found


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node's gateway sends calls, and the variables of its environment.

    `endpoints` are the group of the run's model, `entries` those of the registry. `variables` are
    those that the environment may read, `secret` names the secret ones among them.
    """

    endpoints: list["NodeEndpoint"]
    entries: list["NodeEntry"] = []
    variables: dict[str, str] = {}
    secret: list[str] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An Endpoint; `key`, `headers` and `query` may be secrets."""

    model: str
    url: str
    alias: str | None
    builtin: bool
    price: Price | None
    key_header: str
    key_var: str | None
    key: str | None = None
    headers: dict[str, str] = {}
    query: str = ""

    @classmethod
    def of(cls, endpoint: Endpoint, price: Price | None) -> "NodeEndpoint":
        """All of `endpoint`, at `price`."""
        return cls(
            model=endpoint.model,
            url=endpoint.url,
            alias=endpoint.alias,
            builtin=endpoint.builtin,
            price=None if endpoint.builtin else price,
            key_header=endpoint.key_header,
            key_var=endpoint.key_var,
            key=None if endpoint.key is None else endpoint.key.reveal(),
            headers=dict(endpoint.headers),
            query=endpoint.query,
        )

    def endpoint(self) -> Endpoint:
        """The Endpoint."""
        fields = msgspec.structs.asdict(self)
        key = None if self.key is None else EndpointSecret(self.key)
        return Endpoint(**{**fields, "key": key})


class NodeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a registry; `literal` and `headers` may be secrets."""

    alias: str
    model: str
    url: str
    type: str
    price: Price | None
    variable: str | None
    literal: str | None = None
    headers: dict[str, str] = {}

    @classmethod
    def of(cls, entry: RegistryEntry, key: EndpointSecret | None) -> "NodeEntry":
        """All of `entry`, with its `key`."""
        return cls(
            alias=entry.alias,
            model=entry.model,
            url=entry.url,
            type=entry.type,
            price=entry.price,
            variable=entry.key.variable,
            literal=None if key is None else key.reveal(),
            headers=dict(entry.headers),
        )

    def entry(self) -> RegistryEntry:
        """The RegistryEntry."""
        fields = msgspec.structs.asdict(self)
        literal = fields.pop("literal")
        key = KeySource(fields.pop("variable"), EndpointSecret(literal) if literal else None)
        return RegistryEntry(**fields, key=key)


def registry_of(entries: list[NodeEntry]) -> Registry:
    """The registry with `entries`."""
    return Registry(entries=tuple(each.entry() for each in entries))


# --- To a worker on a node ---


class SentWheel(msgspec.Struct, frozen=True):
    """A wheel by its file name; `content` is checked against `sha256`."""

    name: str
    sha256: str
    content: bytes
    extras: tuple[str, ...] = ()


class Open(msgspec.Struct, tag_field="t", tag="open", frozen=True, kw_only=True):
    """Prepare the interpreter of `lock`, start gateway and worker, and wait for rollouts.

    `access` is without secrets. Its keys are in the variables `names`, which the node may have
    itself, unless `must_fetch`. `is_capped` says that calls need a Grant.
    """

    run_id: str
    plan: EvalPlan
    access: Access
    names: list[str]
    must_fetch: bool
    is_capped: bool
    offline: bool
    prefix: int
    fingerprint: str | None
    lock: Lock
    wheel: SentWheel
    beside: list[SentWheel] = []


class FetchKeys(msgspec.Struct, tag_field="t", tag="keys", frozen=True):
    """Where the keys are, once, for the one with this `token`; PEM of the only `certificate`."""

    host: str
    port: int
    token: str
    certificate: str


class Grant(msgspec.Struct, tag_field="t", tag="grant", frozen=True):
    """All that this worker may spend, with what it has spent; None is not capped."""

    tokens: int | None
    picodollars: int | None


# --- From a worker on a node ---


class AskKeys(msgspec.Struct, tag_field="t", tag="ask", frozen=True):
    """The node has no such variables, or the keys are in none."""

    missing: list[str]


class Used(msgspec.Struct, frozen=True):
    """What the calls of a rollout have used since the last time; None for those of no rollout."""

    example: int | None
    rollout: int | None
    charges: SpentBy


class Spent(msgspec.Struct, tag_field="t", tag="spent", frozen=True):
    """What was used, who `served` it, and the rollouts `held` until there is a larger Grant.

    `in_flight` counts the calls that are under way.

    An item of `served` is role, requested model, model, fingerprint, count.
    """

    used: list[Used]
    served: list[tuple[str, str, str | None, str | None, int]] = []
    held: list[tuple[int, int]] = []
    in_flight: int = 0


class Happened(msgspec.Struct, tag_field="t", tag="event", frozen=True):
    """An event of the environment's worker."""

    event: msgspec.Raw


class Printed(msgspec.Struct, tag_field="t", tag="print", frozen=True):
    """A line that the environment printed."""

    line: str


class Said(msgspec.Struct, tag_field="t", tag="say", frozen=True):
    """A sentence for the user."""

    text: str


class Stopped(msgspec.Struct, tag_field="t", tag="stop", frozen=True):
    """No more calls can be counted, because of `reason`; the whole run ends everywhere."""

    reason: str


class Refused(msgspec.Struct, tag_field="t", tag="refused", frozen=True):
    """No call of the run can succeed, on any node."""

    problem: Problem


class Broken(msgspec.Struct, tag_field="t", tag="broken", frozen=True):
    """A worker has failed; if it `died`, another one may do better."""

    problem: Problem
    died: bool = False


Order = Open | FetchKeys | Grant | Stopped | Refused | RunRollouts | Finish | Cancel
Message = AskKeys | Spent | Happened | Printed | Said | Stopped | Refused | Broken


# --- To and from the program that talks to Ray ---


class Connect(msgspec.Struct, tag_field="t", tag="connect", frozen=True):
    """The cluster's address, or `auto`."""

    address: str


class Place(msgspec.Struct, tag_field="t", tag="place", frozen=True):
    """Have Ray start a worker, which is called `seat` from now on."""

    seat: int


class Tell(msgspec.Struct, tag_field="t", tag="tell", frozen=True):
    """Pass an order on."""

    seat: int
    order: msgspec.Raw


class Kill(msgspec.Struct, tag_field="t", tag="kill", frozen=True):
    """End a worker at once."""

    seat: int


Request = Connect | Place | Tell | Kill


class Connected(msgspec.Struct, tag_field="t", tag="connected", frozen=True):
    """The cluster is there; `host` is this machine's address in it."""

    ray: str
    nodes: int
    host: str


class NoCluster(msgspec.Struct, tag_field="t", tag="none", frozen=True):
    """It is not; `is_other` if it is of another Python or Ray."""

    why: str
    is_other: bool = False


class Joined(msgspec.Struct, tag_field="t", tag="joined", frozen=True):
    """A worker has started on the node at `host`; `prime` is None where prime is not installed."""

    seat: int
    host: str
    prime: str | None
    python: str


class Heard(msgspec.Struct, tag_field="t", tag="heard", frozen=True):
    """What a worker said."""

    seat: int
    messages: list[msgspec.Raw]


class Lost(msgspec.Struct, tag_field="t", tag="lost", frozen=True):
    """A worker is gone, or its node."""

    seat: int
    why: str


Report = Connected | NoCluster | Joined | Heard | Lost


def decode(line: bytes, kind: Any) -> Any:
    """A line of one of the unions above."""
    return msgspec.json.decode(line, type=kind)
