"""`prime pods create`."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import typer

from prime_cli.commands.options import YES, DryRunOpt, hub_options, open_session, panel_order
from prime_cli.commands.pods import create_options as options
from prime_cli.commands.pods.creation import Order, find_key, make, make_and_wait, named, plan_lines
from prime_cli.commands.pods.prompts import ask_offer, ask_open
from prime_cli.commands.pods.teams import Sharing, TeamOpt, read_sharing
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.pods.creation import (
    PodOptions,
    PodPlan,
    ends_pods,
    free_name,
    plan_creation,
    read_variables,
)
from prime_cli.pods.disks import find_disks
from prime_cli.pods.lookup import all_pods
from prime_cli.pods.offer_choice import accepting_variables, choose_cheapest, choose_named
from prime_cli.pods.offers import fetch_offers, read_regions, split_list
from prime_cli.session import Session
from prime_cli.wire.offers import GpuOffer, OfferQuery
from prime_cli.wire.pods import LONGEST_LIFE

_TOO_LONG = 2 * LONGEST_LIFE.total_seconds()
"""What no timedelta could hold may be asked for."""


@dataclass(frozen=True)
class _Named:
    """The offer that flags name, by one id or the other."""

    short: str | None
    cloud: str | None


@panel_order(*options.PANELS)
@hub_options(YES)
def create(
    ctx: typer.Context,
    id_: options.IdOpt = None,
    cloud_id: options.CloudIdOpt = None,
    gpu_type: options.GpuTypeOpt = None,
    gpu_count: options.GpuCountOpt = None,
    regions: options.RegionsOpt = None,
    socket: options.SocketOpt = None,
    provider: options.ProviderOpt = None,
    max_price: options.MaxPriceOpt = None,
    spot: options.TakeSpotOpt = None,
    name: options.NameOpt = None,
    disk_size: options.DiskSizeOpt = None,
    vcpus: options.VcpusOpt = None,
    memory: options.MemoryOpt = None,
    image: options.ImageOpt = None,
    custom_template_id: options.TemplateOpt = None,
    disks: options.DisksOpt = None,
    env: options.EnvOpt = None,
    for_: options.ForOpt = None,
    nodes: options.NodesOpt = 1,
    ssh_key: options.KeyOpt = None,
    team_id: TeamOpt = None,
    share_with_team: options.ShareOpt = False,
    add_members: options.AddMembersOpt = False,
    member: options.MemberOpt = None,
    wait: options.WaitOpt = None,
    timeout: options.TimeoutOpt = "30m",
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
    seconds = parse_duration(timeout)
    life = _read_life(for_)
    variables = read_variables(env or (), os.environ)
    hub = session.hub
    attached = find_disks(hub, split_list(disks or ()))
    wanted = OfferQuery(
        gpu_type=gpu_type,
        gpu_count=gpu_count,
        regions=read_regions(regions or ()),
        socket=socket,
        provider=provider,
        disks=tuple(disk.id for disk in attached),
        max_price=max_price,
        spot=spot,
    )
    asks = session.output.is_interactive and not session.yes
    ours = ends_pods(hub, life=life, nodes=nodes)
    sharing = read_sharing(
        session,
        Sharing(team_id, everybody=share_with_team, asked=add_members, members=member or ()),
    )
    key = find_key(hub, ssh_key)
    offers = fetch_offers(hub, wanted)
    if variables and not ours:
        offers = _leave_out(session, offers)
    offer = _choose(session, offers, wanted, _Named(id_, cloud_id), asks=asks)
    taken = [pod.name for pod in all_pods(hub)]
    wishes = PodOptions(
        name=_name(session, name, taken) or free_name(offer, taken),
        disk_size=disk_size,
        vcpus=vcpus,
        memory=memory,
        image=image,
        template=custom_template_id,
        variables=variables,
        disks=attached,
        team_id=sharing.team_id,
        team=sharing.team,
        shared=sharing.everybody,
        member_ids=sharing.member_ids,
        life=life,
        nodes=nodes,
        max_price=max_price,
    )
    if asks:
        wishes = ask_open(session.output, offer, wishes)
    plan = plan_creation(offer, wishes, now=datetime.now(UTC), ends_pods=ours)
    if dry_run:
        session.output.show(plan.summary, lines=plan_lines(plan))
        return
    _agree(session, plan)
    order = Order(plan, key, taken)
    if session.output.is_interactive if wait is None else wait:
        make_and_wait(session, order, seconds=seconds)
    else:
        make(session, order)


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
    session: Session, offers: Sequence[GpuOffer], wanted: OfferQuery, meant: _Named, *, asks: bool
) -> GpuOffer:
    if meant.short and meant.cloud:
        raise UsageError("`--id` and `--cloud-id` are both given", hint="use only one of them")
    if word := meant.short or meant.cloud:
        return choose_named(offers, wanted, named=word, cloud=meant.short is None)
    if wanted.gpu_type:
        choice = choose_cheapest(offers, wanted)
        session.output.say(choice.why)
        return choice.offer
    if not asks:
        raise UsageError(
            "No machine selected",
            hint="choose a type with `--gpu-type` (and `--gpu-count`, `--max-price`), or an offer "
            "of `prime availability list` with `--id`",
        )
    return ask_offer(session.output, offers, wanted)


def _name(session: Session, name: str | None, taken: Collection[str | None]) -> str | None:
    """The name of the flag, as it is; that another pod has it too is said."""
    if name and name in taken:
        session.output.warn(
            f"There is a pod `{name}` already",
            hint="choose another name, or use ids to tell them apart",
        )
    return name


def _agree(session: Session, plan: PodPlan) -> None:
    show = session.output
    for label, text in plan_lines(plan):
        # Whoever is asked has to see it; whoever has agreed beforehand may want quiet.
        (show.say if session.yes else show.tell)(f"  {label:<9}{' '.join(text.split())}")
    show.confirm(f"Create {named(plan)}?", otherwise="Nothing was created")
