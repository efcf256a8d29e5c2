"""`prime disks create`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.commands.pods.teams import TeamOpt, choose_team
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import UsageError
from prime_cli.pods.disk_plan import DiskPlan, DiskWishes, fitting_offers, ids_of, plan_disk
from prime_cli.pods.disks import detailed
from prime_cli.pods.places import place_words
from prime_cli.pods.prices import hourly
from prime_cli.session import Session
from prime_cli.wire.disks import price_of
from prime_cli.wire.offers import DiskOffer


def create(
    ctx: typer.Context,
    size: Annotated[int, typer.Option("--size", metavar="GB", min=1, help="How big it is, in GB.")],
    offer_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="An offer, by its id in `availability disks`."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What it is called.", show_default="by its id")
    ] = None,
    country: Annotated[str | None, typer.Option("--country", help="Where, as US.")] = None,
    cloud_id: Annotated[
        str | None, typer.Option("--cloud-id", metavar="ID", help="The offer's own id.")
    ] = None,
    data_center_id: Annotated[
        str | None, typer.Option("--data-center-id", metavar="ID", help="In which data center.")
    ] = None,
    team: TeamOpt = None,
    provider: Annotated[
        str | None, typer.Option("--provider-type", "--provider", help="Whose offer.")
    ] = None,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Rent a disk.

    It outlives the pods that it is attached to, and is billed from now on until it is terminated;
    the price is shown before you are asked.

    \b
    Example:
      prime disks create --size 200 --name data
      prime disks create --id 1f2e3d --size 200 --yes
    \b
    See also: `prime availability disks`, `prime pods create`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    wishes = DiskWishes(size, offer_id, name, country, cloud_id, data_center_id, provider)
    hub = session.hub
    offer = _choose(session, fitting_offers(hub, wishes), size)
    chosen = choose_team(session, team)
    plan = plan_disk(offer, wishes, chosen.team_id if chosen else None)
    session.output.confirm(_question(plan), yes=yes, otherwise="Nothing was rented")
    made = hub.disks.create(plan.creation)
    remember("disks", [made.name, made.id])
    session.output.done(
        f"Rented the disk `{made.name}` ({made.id}): {made.size} GB at {hourly(made.price_hr)}",
        value=detailed(made),
    )
    session.output.hint(f"attach it with `prime pods create --disks {made.name or made.id}`")


def _choose(session: Session, offers: Sequence[DiskOffer], size: int) -> DiskOffer:
    if len(offers) == 1:
        return offers[0]
    ids = ids_of(offers)
    if not session.output.is_interactive:
        raise UsageError(
            f"{len(offers)} kinds of disks may be meant: {', '.join(ids)}",
            hint="name one with `--id`; `prime availability disks` says what they are",
        )
    told = [
        f"{each} {_words(offer)}, {hourly(price_of(offer.spec, size))}"
        for each, offer in zip(ids, offers, strict=True)
    ]
    return offers[told.index(session.output.choose("Which disk?", told, flag="--id"))]


def _question(plan: DiskPlan) -> str:
    until = f"{hourly(plan.price)} until it is terminated"
    return f"Rent a disk of {plan.creation.disk.size} GB, {_words(plan.offer)}, at {until}?"


def _words(offer: DiskOffer) -> str:
    place = place_words(offer.country, offer.data_center)
    return f"{offer.provider} in {place}" if place else offer.provider
