"""Show what a pod will be, send the request, and wait until it is up."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from prime_cli.api.client import HubClient
from prime_cli.commands.pods.listing import deadline_text, machine_text
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError
from prime_cli.core.formatting import first_few, format_usd
from prime_cli.pods import ssh_keys
from prime_cli.pods.creation import PodPlan, creation_request
from prime_cli.pods.formatting import gpu_words, hourly, moment, place_of
from prime_cli.pods.lookup import shortest_name
from prime_cli.pods.ssh.identity import find_identity, key_exists, public_line
from prime_cli.pods.ssh_keys import register_key
from prime_cli.pods.watch import wait_until_up
from prime_cli.session import Session
from prime_cli.wire.pods import Pod

_NO_PRICE = "no price is known"


def plan_lines(plan: PodPlan) -> list[tuple[str, str]]:
    """What is made, where, what it costs, when it stops, and what it will have come to by then."""
    return [
        ("name", plan.options.name),
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
        ("gpu", machine_text(gpu_words(pod.gpu_name, pod.gpu_count), pod.nodes)),
        ("status", pod.shown_status),
        ("ssh", ", ".join(filter(None, several or ())) or "-"),
        ("$/h", format_usd(pod.price_hr, "-")),
        (
            "stops",
            deadline_text(when, datetime.now(UTC)) if (when := moment(pod.stop_at)) else "-",
        ),
    ]


def left_behind(pod: Pod) -> str:
    """What continues after the command has ended."""
    when = moment(pod.stop_at)
    until = f" until {deadline_text(when, datetime.now(UTC))}" if when else ", without a deadline"
    return f"`{pod.title}` keeps running at {hourly(pod.price_hr)}{until}"


def _where(plan: PodPlan) -> str:
    provider = plan.offer.provider or "unknown provider"
    place = place_of(plan.offer)
    return f"{provider}, {place}" if place else provider


def _machine(plan: PodPlan) -> str:
    offer = plan.offer
    spot = ", spot: may be reclaimed at any time" if offer.is_spot else ""
    gpu = gpu_words(offer.gpu_type, offer.gpu_count)
    return f"{machine_text(gpu, plan.options.nodes)}{spot}"


def _contents(plan: PodPlan) -> Iterator[tuple[str, str]]:
    sizes = [
        None if plan.options.vcpus is None else f"{plan.options.vcpus} vCPUs",
        None if plan.options.memory is None else f"{plan.options.memory} GB of memory",
        None if plan.options.disk_size is None else f"{plan.options.disk_size} GB of disk",
    ]
    if told := ", ".join(filter(None, sizes)):
        yield "with", told
    if plan.options.image:
        yield "image", plan.options.image
    if variables := plan.options.variables:
        yield "env", first_few([variable.key for variable in variables], 8)
    for disk in plan.options.disks:
        yield (
            "disk",
            f"{disk.name or disk.id}, {disk.size} GB, {hourly(disk.price_hr)}, also after the pod",
        )
    if plan.options.team_id:
        shared = "all members" if plan.options.shared else f"{len(plan.options.member_ids)} members"
        with_whom = plan.options.shared or plan.options.member_ids
        team = plan.options.team or plan.options.team_id
        yield "team", team + (f", shared with {shared}" if with_whom else "")


def _price(plan: PodPlan) -> str:
    if plan.price is None:
        return _NO_PRICE
    base = plan.offer.prices.price or 0.0
    nodes = f" for {plan.options.nodes} nodes" if plan.options.nodes > 1 else ""
    more = plan.price - base * plan.options.nodes
    extra = f", {format_usd(more)} of it beyond the offer" if round(more, 6) > 0 else ""
    return f"{hourly(plan.price)}{nodes}{extra}"


def _stop(plan: PodPlan) -> str:
    if plan.stop_at is None:
        return "only when you terminate it: this hub has no deadlines"
    return deadline_text(plan.stop_at, plan.begun_at)


def _bill(plan: PodPlan) -> str:
    if plan.price is None or plan.disks_price is None:
        return _NO_PRICE
    if plan.bill is None:
        return f"{format_usd(plan.price + plan.disks_price)} every hour"
    disks = f", {hourly(plan.disks_price)} of it for disks" if plan.disks_price else ""
    return f"{format_usd(plan.bill)} until then{disks}"


def named(plan: PodPlan) -> str:
    """The plan in a few words, for a question: ``web` at $1.79/h`."""
    return f"`{plan.options.name}` at {hourly(plan.price)}"


@dataclass(frozen=True)
class Key:
    """What `--ssh-key` says: a key on the hub by its id, or a file, or nothing."""

    id: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class Order:
    """What was agreed to, the key that opens it, and the names that other pods have."""

    plan: PodPlan
    key: Key
    taken: Collection[str | None]


def find_key(hub: HubClient, word: str | None) -> Key:
    """The key on the hub with this name, id or fingerprint, else the file of that name.

    Raises UsageError where several are meant, and NotFound for neither a key nor a file.
    """
    if word is None:
        return Key()
    with suppress(NotFound, NotAllowed):  # a hub that keeps no keys, or shows them to nobody
        return Key(ssh_keys.find_key(hub, word).id)
    if not key_exists(word):
        raise NotFound(
            f"No key `{word[:80]}` on {hub.host}, and no such file",
            hint="list keys with `prime ssh-keys list`",
        )
    return Key(file=word)


def make(session: Session, order: Order) -> None:
    """Ask for the pod, and leave while it is made."""
    pod = _ask_for(session, order)
    session.output.show(pod, lines=pod_lines(pod))
    if not pod.id:
        _tell_nameless(session)
        return
    word = shortest_name(pod, order.taken)
    session.output.hint(f"check its status with `prime pods status {word}`")
    _tell_next(session, word)


def make_and_wait(session: Session, order: Order, *, seconds: float) -> None:
    """Ask for the pod, and stay until it is up.

    A script is given the pod also where that fails, so that it can end it.
    """
    pod = _ask_for(session, order)
    if not pod.id:
        session.output.show(pod, lines=pod_lines(pod))
        _tell_nameless(session)
        return
    seen = [pod]
    try:
        pod = wait_until_up(session.hub, pod, session.progress, seconds=seconds, seen=seen.append)
    except (PrimeError, KeyboardInterrupt, SystemExit) as error:
        if session.output.is_json:
            session.output.show(seen[-1])
        if not isinstance(error, PrimeError):
            session.output.tell(left_behind(seen[-1]))
            session.output.tell(f"terminate it with `prime pods terminate {pod.id}`")
        raise
    session.output.show(pod, lines=pod_lines(pod))
    _tell_next(session, shortest_name(pod, order.taken))


def _ask_for(session: Session, order: Order) -> Pod:
    key_id = _opening(session, order.key)
    try:
        pod = session.hub.pods.create(creation_request(order.plan, key_id=key_id))
    except (KeyboardInterrupt, SystemExit):  # the latter is what SIGTERM becomes
        session.output.tell("A pod may have been created anyway: check `prime pods list`")
        raise
    remember("pods", filter(None, (pod.name, pod.id)))
    return pod


def _tell_nameless(session: Session) -> None:
    """The published API does not promise the id of a new pod, without which none is waited for."""
    session.output.warn(
        "The pod was created, but the hub did not say its id",
        hint="find it with `prime pods list`",
    )


def _opening(session: Session, key: Key) -> str | None:
    """The id of the one key that opens the pod, None for all; the user's is on the hub by then."""
    if key.id is not None:
        return key.id
    config = session.config
    identity = find_identity(config.home.value, key.file, config.ssh_key_path, session.progress)
    known = register_key(session.hub, public_line(identity), session.progress)
    return known.id if known is not None and key.file is not None else None


def _tell_next(session: Session, word: str) -> None:
    session.output.hint(
        f"connect with `prime pods ssh {word}`, terminate it with `prime pods terminate {word}`"
    )
