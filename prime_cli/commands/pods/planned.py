"""A pod as it is told before and after it is made."""

from collections.abc import Iterator
from datetime import UTC, datetime

from prime_cli.commands.pods.words import deadline_words, machine_words, price_words
from prime_cli.core.formatting import first_few
from prime_cli.models.budget import format_usd
from prime_cli.pods.creation import Plan
from prime_cli.pods.listing import gpu_words, moment
from prime_cli.pods.prices import hourly
from prime_cli.pods.shown_offers import place_of
from prime_cli.wire.pods import Pod

_NO_PRICE = "no price is known"


def plan_lines(plan: Plan) -> list[tuple[str, str]]:
    """What is made, where, what it costs, when it stops, and what it will have come to by then."""
    return [
        ("name", plan.wishes.name),
        ("machine", _machine(plan)),
        ("where", _where(plan)),
        *_contents(plan),
        ("price", _price(plan)),
        ("stops", _stop(plan)),
        ("billed", _bill(plan)),
    ]


def pod_lines(pod: Pod) -> list[tuple[str, str]]:
    """What a new pod is called, and how it is reached."""
    several = [pod.ssh_connection] if isinstance(pod.ssh_connection, str) else pod.ssh_connection
    return [
        ("id", pod.id),
        ("name", pod.name or "-"),
        ("gpu", machine_words(gpu_words(pod.gpu_name, pod.gpu_count), pod.nodes)),
        ("status", pod.shown_status),
        ("ssh", ", ".join(filter(None, several or ())) or "-"),
        ("$/h", price_words(pod.price_hr)),
        (
            "stops",
            deadline_words(when, datetime.now(UTC)) if (when := moment(pod.stop_at)) else "-",
        ),
    ]


def left_behind(pod: Pod) -> str:
    """What goes on after the command has ended."""
    when = moment(pod.stop_at)
    until = (
        f" until {deadline_words(when, datetime.now(UTC))}"
        if when
        else ", and nothing ends it by itself"
    )
    return f"`{pod.title}` goes on at {hourly(pod.price_hr)}{until}"


def _where(plan: Plan) -> str:
    provider = plan.offer.provider or "a provider that is not told"
    place = place_of(plan.offer)
    return f"{provider}, {place}" if place else provider


def _machine(plan: Plan) -> str:
    offer = plan.offer
    spot = ", spot: it may be taken back at any time" if offer.is_spot else ""
    gpu = gpu_words(offer.gpu_type, offer.gpu_count)
    return f"{machine_words(gpu, plan.wishes.nodes)}{spot}"


def _contents(plan: Plan) -> Iterator[tuple[str, str]]:
    sizes = [
        None if plan.vcpus is None else f"{plan.vcpus} vCPUs",
        None if plan.memory is None else f"{plan.memory} GB of memory",
        None if plan.disk_size is None else f"{plan.disk_size} GB of disk",
    ]
    if told := ", ".join(filter(None, sizes)):
        yield "with", told
    if plan.image:
        yield "image", plan.image
    if variables := plan.wishes.variables:
        yield "env", first_few([variable.key for variable in variables], 8)
    for disk in plan.wishes.disks:
        yield (
            "disk",
            f"{disk.name or disk.id}, {disk.size} GB, {hourly(disk.price_hr)}, also after the pod",
        )
    if plan.wishes.team_id:
        shared = "all members" if plan.wishes.shared else f"{len(plan.wishes.member_ids)} members"
        with_whom = plan.wishes.shared or plan.wishes.member_ids
        team = plan.wishes.team or plan.wishes.team_id
        yield "team", team + (f", shared with {shared}" if with_whom else "")


def _price(plan: Plan) -> str:
    if plan.price is None:
        return _NO_PRICE
    base = plan.offer.prices.price or 0.0
    nodes = f" for {plan.wishes.nodes} nodes" if plan.wishes.nodes > 1 else ""
    more = plan.price - base * plan.wishes.nodes
    extra = f", {format_usd(more)} of it for what is beyond the offer" if round(more, 6) > 0 else ""
    return f"{hourly(plan.price)}{nodes}{extra}"


def _stop(plan: Plan) -> str:
    if plan.stop_at is None:
        return "only when you terminate it: this hub ends no pods by itself"
    return deadline_words(plan.stop_at, plan.begun_at)


def _bill(plan: Plan) -> str:
    if plan.price is None or plan.disks_price is None:
        return _NO_PRICE
    if plan.bill is None:
        return f"{format_usd(plan.price + plan.disks_price)} every hour"
    disks = f", {hourly(plan.disks_price)} of it for disks" if plan.disks_price else ""
    return f"{format_usd(plan.bill)} until then{disks}"


def named(plan: Plan) -> str:
    """The plan in a few words, for a question: ``web` at $1.79/h`."""
    return f"`{plan.wishes.name}` at {hourly(plan.price)}"
