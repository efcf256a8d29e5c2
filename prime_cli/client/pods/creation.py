"""What is about to be rented: the requested pod, the offer, and the cost."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from prime_cli.client.api.client import HubClient
from prime_cli.client.pods.listing import hourly, place_of
from prime_cli.client.pods.lookup import has_extensions
from prime_cli.client.pods.offers import offer_id, offer_title
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import first_few
from prime_cli.core.options import Option
from prime_cli.wire.disks import Disk
from prime_cli.wire.offers import GpuOffer, Spec, check_count
from prime_cli.wire.pods import (
    DEFAULT_LIFE,
    PodCreation,
    PodRequest,
    PodVariable,
    ProviderChoice,
    TeamChoice,
)

_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9-]{1,60}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


TEAM = Option(
    "The team that owns it, or `personal`.",
    names=("--team-id", "--team"),
    metavar="TEAM",
    show_default="the current team",
    panel="Team",
)


@dataclass(frozen=True)
class PodSharing:
    """The team of a pod (id and slug), and who in it may use the pod; None for a personal pod."""

    team_id: str | None = None
    team: str | None = None
    everybody: bool = False
    member_ids: tuple[str, ...] = ()


def read_variables(words: Iterable[str], environ: Mapping[str, str]) -> tuple[PodVariable, ...]:
    """Variables from `KEY=VALUE`, or from `KEY` alone, whose value is taken from `environ`.

    The value may contain `=`. Raises UsageError, without showing a value.
    """
    found: dict[str, str] = {}
    for word in words:
        name, has_value, value = word.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise UsageError(
                f"`{name[:40]}` is not a valid variable name",
                hint="write `--env KEY=VALUE`, or `--env KEY` to take it from your environment",
            )
        if not has_value and name not in environ:
            raise UsageError(
                f"The variable `{name}` is not set here",
                hint=f"set it, or write `--env {name}=VALUE`",
            )
        found[name] = value if has_value else environ[name]
    return tuple(PodVariable(name, value) for name, value in found.items())


def free_name(offer: GpuOffer, taken: Iterable[str | None]) -> str:
    """A name that no other pod has: `h100-8`, `h100-8-2`."""
    base = f"{offer.gpu_type.lower().split('_')[0]}-{offer.gpu_count}"
    base = re.sub(r"[^a-z0-9-]", "-", base)
    used, number, name = set(taken), 1, base
    while name in used:
        number += 1
        name = f"{base}-{number}"
    return name


def check_name(name: str) -> None:
    """Raise UsageError for an invalid pod name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name[:80]}` is not a valid pod name",
            hint="use up to 60 letters, digits and dashes, at least one of them a letter",
        )


TEMPLATE = "custom_template"
"""The image name for the user's own template, as on the public hub."""

_HOUR = 3600


class PlannedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A plan for scripts, with only the names of variables; sizes in GB, prices in USD."""

    id: str
    cloud_id: str
    gpu_type: str
    gpu_count: int
    nodes: int
    is_spot: bool
    provider: str | None
    location: str | None
    name: str | None
    disk_size: int | None
    vcpus: int | None
    memory: int | None
    image: str | None
    variables: list[str]
    disks: list[str] | None
    team_id: str | None
    price_per_hour: float | None
    disks_price_per_hour: float | None
    stop_at: str | None
    billed_until_then: float | None


@dataclass(frozen=True)
class PodPlan:
    """A pod about to be requested.

    `creation` has the offer's defaults where nothing was chosen. Prices are in USD per hour, for
    all nodes, and None if unknown. `stop_at` (aware, UTC) is None on a hub that ends no pods by
    itself.
    """

    offer: GpuOffer
    creation: PodCreation = field(repr=False)
    disks: Sequence[Disk]
    sharing: PodSharing
    price: float | None
    begun_at: datetime
    stop_at: datetime | None

    @property
    def request(self) -> PodRequest:
        """What is asked for besides disks, nodes and the team."""
        return self.creation.pod

    @property
    def disks_price(self) -> float | None:
        """The price of its disks; None if that of one is unknown."""
        known = [disk.price_hr for disk in self.disks if disk.price_hr is not None]
        return sum(known) if len(known) == len(self.disks) else None

    @property
    def estimate(self) -> float | None:
        """What it and its disks cost until it stops; None if unknown."""
        if self.stop_at is None or self.price is None or self.disks_price is None:
            return None
        hours = (self.stop_at - self.begun_at).total_seconds() / _HOUR
        return round((self.price + self.disks_price) * hours, 4)

    @property
    def summary(self) -> PlannedPod:
        """The plan for scripts; only the names of variables."""
        request = self.request
        return PlannedPod(
            id=offer_id(self.offer),
            cloud_id=request.cloud_id,
            gpu_type=request.gpu_type,
            gpu_count=request.gpu_count,
            nodes=self.creation.nodes,
            is_spot=bool(self.offer.is_spot),
            provider=self.offer.provider,
            location=place_of(self.offer) or None,
            name=request.name,
            disk_size=request.disk_size,
            vcpus=request.vcpus,
            memory=request.memory,
            image=request.image,
            variables=[variable.key for variable in request.env_vars],
            disks=self.creation.disks,
            team_id=self.sharing.team_id,
            price_per_hour=self.price,
            disks_price_per_hour=self.disks_price,
            stop_at=self.creation.stop_at,
            billed_until_then=self.estimate,
        )


def request_of(offer: GpuOffer, name: str, **wishes: Any) -> PodRequest:
    """A request for a machine of the offer, with `wishes` by the names of PodRequest."""
    return PodRequest(
        cloud_id=offer.cloud_id,
        gpu_type=offer.gpu_type,
        gpu_count=offer.gpu_count,
        socket=offer.socket,
        data_center_id=offer.data_center,
        name=name,
        **wishes,
    )


def plan_creation(
    offer: GpuOffer,
    request: PodRequest,
    *,
    disks: Sequence[Disk] = (),
    sharing: PodSharing = PodSharing(),
    nodes: int = 1,
    life: timedelta | None = None,
    now: datetime,
    ends_pods: bool,
) -> PodPlan:
    """Check the request against its offer and compute the cost.

    `life` is how long the pod should last, None if not specified. Fields that only our hubs know
    are omitted for others. Raises UsageError for the first wish that the offer does not allow, and
    for a price above the limit.
    """
    check_name(request.name or "")
    request = msgspec.structs.replace(
        request,
        disk_size=_size(offer.disk, request.disk_size, "--disk-size"),
        vcpus=_size(offer.vcpu, request.vcpus, "--vcpus"),
        memory=_size(offer.memory, request.memory, "--memory"),
        image=_image(offer, request),
    )
    price = offer.hourly(
        disk=request.disk_size, vcpus=request.vcpus, memory=request.memory, nodes=nodes
    )
    if request.max_price is not None and (price is None or price > request.max_price):
        raise UsageError(
            f"With these options the pod costs {hourly(price)}, more than the `--max-price` of "
            f"{hourly(request.max_price)}",
            hint="request less, or raise the limit",
        )
    stop_at = now + (life or DEFAULT_LIFE) if ends_pods else None
    creation = PodCreation(
        pod=request,
        provider=ProviderChoice(offer.provider),
        disks=[disk.id for disk in disks],
        team=TeamChoice(sharing.team_id) if sharing.team_id else None,
        # Spelled both ways: as published, and as released clients write and hubs read it.
        team_member_ids=list(sharing.member_ids),
        members_in_camel=list(sharing.member_ids),
        shared_with_team=sharing.everybody,
        shared_in_camel=sharing.everybody,
        stop_at=None if stop_at is None else f"{stop_at:%Y-%m-%dT%H:%M:%SZ}",
        nodes=nodes,
    )
    return PodPlan(offer, creation, disks, sharing, price, now, stop_at)


def ends_pods(hub: HubClient, *, life: timedelta | None, nodes: int) -> bool:
    """Whether the hub ends pods by itself; raises UsageError for options that then cannot work."""
    if has_extensions(hub):
        return True
    if life is not None:
        raise UsageError(
            f"{hub.host} has no deadlines for pods, so `--for` is not supported there",
            hint="omit it, and terminate the pod with `prime pods terminate`",
        )
    if nodes > 1:
        raise UsageError(
            f"{hub.host} has no pods with several nodes, so `--nodes` is not supported there",
            hint="omit it, or choose an offer with more GPUs",
        )
    return False


def _size(spec: Spec, wanted: int | None, flag: str) -> int | None:
    """How much of a resource to take."""
    check_count(spec, wanted, flag)
    return spec.default_count if wanted is None else wanted


def _image(offer: GpuOffer, request: PodRequest) -> str | None:
    image = request.image
    if (image == TEMPLATE) != (request.custom_template_id is not None):
        raise UsageError(
            f"`--custom-template-id` and `--image {TEMPLATE}` require each other",
            hint="use both or neither",
        )
    if image is None:
        return next((name for name in offer.images if name != TEMPLATE), None)
    # If an offer lists none, only the hub knows them.
    if offer.images and image not in offer.images and image != TEMPLATE:
        raise UsageError(
            f"`{image[:80]}` is not an image of {offer_title(offer)}",
            hint=f"it has {first_few(offer.images, 12)}",
        )
    return image
