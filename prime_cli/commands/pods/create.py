"""`prime pods create`."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
import typer

from prime_cli.client.pods.creation import (
    PlannedPod,
    PodPlan,
    ends_pods,
    free_name,
    plan_creation,
    read_variables,
    request_of,
)
from prime_cli.client.pods.disks import find_disks
from prime_cli.client.pods.lookup import all_pods
from prime_cli.client.pods.offers import (
    accepting_variables,
    choose_cheapest,
    choose_named,
    fetch_offers,
    read_regions,
    split_list,
)
from prime_cli.commands.contract import SPENDS, WRITES
from prime_cli.commands.options import YES, DryRunOpt, hub_options, open_session, panel_order
from prime_cli.commands.pods.creation import (
    ask_offer,
    ask_open,
    find_key,
    make,
    named,
    plan_lines,
)
from prime_cli.commands.pods.teams import Sharing, read_sharing
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.core.options import Option
from prime_cli.session import Session
from prime_cli.wire.offers import GpuOffer, MachineQuery, OfferQuery
from prime_cli.wire.pods import LONGEST_LIFE, Pod

# --- Options ---

MACHINE, POD, TEAM, WAITING = PANELS = ("Machine", "Pod", "Team", "Waiting")
"""Headings of the help of `prime pods create`, in their order."""


@dataclass(frozen=True)
class OfferName:
    """The offer that is named, by one id or the other."""

    id: Annotated[
        str | None, Option("The id of an offer in `prime availability list`.", metavar="ID")
    ] = None
    cloud_id: Annotated[
        str | None, Option("The provider's id of an offer.", metavar="ID", panel=MACHINE)
    ] = None


@dataclass(frozen=True)
class PodSettings:
    """How the pod is set up; None leaves it to the offer."""

    spot: Annotated[
        bool | None,
        Option(
            "Accept a machine that may be reclaimed at any time.",
            names=("--spot/--no-spot",),
            panel=MACHINE,
        ),
    ] = None
    name: Annotated[
        str | None,
        Option(
            "Letters, digits and dashes.",
            metavar="NAME",
            show_default="from the GPU type",
            panel=POD,
        ),
    ] = None
    disk_size: Annotated[
        int | None, Option("Size of its disk.", metavar="GB", panel=MACHINE, least=1)
    ] = None
    vcpus: Annotated[int | None, Option("Its vCPUs.", metavar="N", panel=MACHINE, least=1)] = None
    memory: Annotated[int | None, Option("Its memory.", metavar="GB", panel=MACHINE, least=1)] = (
        None
    )
    image: Annotated[
        str | None, Option("One of the offer's images.", metavar="IMAGE", panel=POD)
    ] = None
    custom_template_id: Annotated[
        str | None, Option("Your template, with --image custom_template.", metavar="ID", panel=POD)
    ] = None
    disks: Annotated[
        tuple[str, ...], Option("A disk to attach; repeatable.", metavar="DISK", panel=POD)
    ] = ()
    env: Annotated[
        tuple[str, ...],
        Option(
            "A variable for its processes, KEY alone from your environment; may be repeated.",
            metavar="KEY[=VALUE]",
            panel=POD,
        ),
    ] = ()
    life: Annotated[
        str | None,
        Option(
            "Terminate it after this time, such as 90m, 2h, 3d.",
            names=("--for",),
            metavar="TIME",
            show_default="24h if the hub supports it",
        ),
    ] = None
    nodes: Annotated[
        int,
        Option("Number of machines in one cluster.", metavar="N", panel=MACHINE, least=1, most=64),
    ] = 1
    ssh_key: Annotated[
        str | None,
        Option(
            "The only SSH key with access: a file, or its name or id on the hub.",
            metavar="KEY",
            show_default="all of yours",
            panel=POD,
        ),
    ] = None


@dataclass(frozen=True)
class WaitOptions:
    """Whether and how long to wait until the pod runs; None waits on a terminal."""

    wait: Annotated[
        bool | None,
        Option(
            "Wait until it is running, or return at once.",
            names=("--wait/--no-wait",),
            show_default="wait on a terminal",
            panel=WAITING,
        ),
    ] = None
    timeout: Annotated[str, Option("Maximum time to wait.", metavar="TIME", panel=WAITING)] = "30m"


# --- The command ---

_WISHES = ("disk_size", "vcpus", "memory", "image", "custom_template_id")
"""Settings that a request has by the same names."""

_TOO_LONG = 2 * LONGEST_LIFE.total_seconds()
"""What no timedelta could hold may be asked for."""


@panel_order(*PANELS)
@hub_options(YES, answer=(Pod, PlannedPod), effects=(WRITES, SPENDS), exits=ExitCode.ENVIRONMENT)
def create(
    ctx: typer.Context,
    offer_name: OfferName,
    query: MachineQuery,
    settings: PodSettings,
    sharing: Sharing,
    waiting: WaitOptions,
    dry_run: DryRunOpt = False,
) -> None:
    """Create a pod.

    --gpu-type selects the cheapest matching offer; without an id or a type, prime asks step by
    step. Shows the price and the deadline before you confirm.

    \b
    Example:
      prime pods create
      prime pods create --gpu-type h100 --gpu-count 8 --max-price 20 --for 2h
      prime pods create --id 1f2e3d --name trainer --env HF_TOKEN --yes
    \b
    See also: `prime availability list`, `prime pods ssh`, `prime pods terminate`.
    """
    session = open_session(ctx)
    seconds = parse_duration(waiting.timeout)
    life = _read_life(settings.life)
    variables = read_variables(settings.env, os.environ)
    hub = session.hub
    attached = find_disks(hub, split_list(settings.disks))
    wanted = OfferQuery(
        **msgspec.structs.asdict(query) | {"regions": read_regions(query.regions)},
        disks=tuple(disk.id for disk in attached),
        spot=settings.spot,
    )
    asks = session.output.is_interactive and not session.yes
    ours = ends_pods(hub, life=life, nodes=settings.nodes)
    shared = read_sharing(session, sharing)
    key = find_key(hub, settings.ssh_key)
    offers = fetch_offers(hub, wanted)
    if variables and not ours:
        offers = _leave_out(session, offers)
    offer = _choose(session, offers, wanted, offer_name, asks=asks)
    taken = [pod.name for pod in all_pods(hub)]
    name = _name(session, settings.name, taken) or free_name(offer, taken)
    request = request_of(
        offer,
        name,
        **{wish: getattr(settings, wish) for wish in _WISHES},
        max_price=query.max_price,
        env_vars=list(variables),
    )
    if asks:
        request = ask_open(session.output, offer, request)
    plan = plan_creation(
        offer,
        request,
        disks=attached,
        sharing=shared,
        nodes=settings.nodes,
        life=life,
        now=datetime.now(UTC),
        ends_pods=ours,
    )
    if dry_run:
        session.output.show(plan.summary, lines=plan_lines(plan))
        return
    _agree(session, plan)
    waits = session.output.is_interactive if waiting.wait is None else waiting.wait
    make(session, plan, key, taken, seconds=seconds if waits else None)


def _read_life(text: str | None) -> timedelta | None:
    if text is None:
        return None
    life = timedelta(seconds=min(parse_duration(text), _TOO_LONG))
    if not life:
        raise UsageError("`--for` must be longer than 0", hint="write it as 90m, 2h or 3d")
    if life > LONGEST_LIFE:
        raise UsageError("A pod can last a year at most", hint="create another one after that")
    return life


def _leave_out(session: Session, offers: Sequence[GpuOffer]) -> list[GpuOffer]:
    """The offers without those whose pods can have no variables."""
    usable = accepting_variables(offers)
    if left_out := len(offers) - len(usable):
        session.output.say(f"Left out {pluralize(left_out, 'offer')} without variables")
    return usable


def _choose(
    session: Session,
    offers: Sequence[GpuOffer],
    wanted: OfferQuery,
    by: OfferName,
    *,
    asks: bool,
) -> GpuOffer:
    if by.id and by.cloud_id:
        raise UsageError("`--id` and `--cloud-id` are both given", hint="use only one of them")
    if word := by.id or by.cloud_id:
        return choose_named(offers, wanted, named=word, cloud=by.id is None)
    if wanted.gpu_type:
        offer, why = choose_cheapest(offers, wanted)
        session.output.say(why)
        return offer
    if not asks:
        raise UsageError(
            "No machine selected",
            hint="choose a type with `--gpu-type` (and `--gpu-count`, `--max-price`), or an offer "
            "of `prime availability list` with `--id`",
        )
    return ask_offer(session.output, offers, wanted)


def _name(session: Session, name: str | None, taken: Collection[str | None]) -> str | None:
    """The name from the flag; warns if another pod has it too."""
    if name and name in taken:
        session.output.warn(
            f"There is a pod `{name}` already",
            hint="choose another name, or use ids to tell them apart",
        )
    return name


def _agree(session: Session, plan: PodPlan) -> None:
    show = session.output
    for label, text in plan_lines(plan):
        # A prompt needs it even with --quiet; with --yes it is optional.
        (show.say if session.yes else show.tell)(f"  {label:<9}{' '.join(text.split())}")
    show.confirm(f"Create {named(plan)}?", otherwise="Nothing was created")
