"""Show what a pod will be, send the request, and wait until it is up."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from prime_cli.api.client import HubClient
from prime_cli.commands.pods.listing import deadline_text, machine_text
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError
from prime_cli.core.formatting import first_few, format_usd, pluralize
from prime_cli.pods import ssh_keys
from prime_cli.pods.creation import PodOwner, PodPlan, creation_request
from prime_cli.pods.formatting import gpu_words, hourly, moment, place_of
from prime_cli.pods.listing import UNKNOWN, join_addresses
from prime_cli.pods.lookup import shortest_name
from prime_cli.pods.ssh.identity import find_identity, key_exists, public_line
from prime_cli.pods.ssh_keys import register_key
from prime_cli.pods.watch import wait_until_up
from prime_cli.session import Session
from prime_cli.wire.pods import Pod

_NO_PRICE = "no price is known"


def plan_lines(plan: PodPlan) -> list[tuple[str, str]]:
    """What is created, where, its cost, when it stops, and its estimated total by then."""
    options, offer = plan.options, plan.offer
    sizes = (
        (options.vcpus, "vCPUs"),
        (options.memory, "GB of memory"),
        (options.disk_size, "GB of disk"),
    )
    machine = machine_text(gpu_words(offer.gpu_type, offer.gpu_count), options.nodes)
    place = (offer.provider or "unknown provider", place_of(offer))
    lines = [
        ("name", options.name),
        ("machine", f"{machine}, spot: may be reclaimed at any time" if offer.is_spot else machine),
        ("where", ", ".join(filter(None, place))),
        ("with", ", ".join(f"{size} {unit}" for size, unit in sizes if size is not None)),
        ("image", options.image or ""),
        ("env", first_few([variable.key for variable in options.variables], 8)),
        *(
            ("disk", f"{disk.name or disk.id}, {disk.size} GB, {hourly(disk.price_hr)}")
            for disk in options.disks
        ),
        ("team", _team(options.owner)),
        ("price", _NO_PRICE if plan.price is None else hourly(plan.price)),
        ("stops", _stop(plan)),
        ("billed", _estimate(plan)),
    ]
    return [(label, text) for label, text in lines if text]


def pod_lines(pod: Pod) -> list[tuple[str, str]]:
    """What a new pod is called, and how it is reached."""
    when = moment(pod.stop_at)
    addresses = join_addresses(pod.ssh_connection)
    return [
        ("id", pod.id),
        ("name", pod.name or "-"),
        ("gpu", machine_text(gpu_words(pod.gpu_name, pod.gpu_count), pod.nodes)),
        ("status", pod.shown_status),
        ("ssh", "-" if addresses == UNKNOWN else addresses),
        ("$/h", format_usd(pod.price_hr, "-")),
        ("stops", deadline_text(when, datetime.now(UTC)) if when else "-"),
    ]


def running_cost(pod: Pod) -> str:
    """That the pod keeps running, at what price, and until when."""
    when = moment(pod.stop_at)
    until = f" until {deadline_text(when, datetime.now(UTC))}" if when else ", without a deadline"
    return f"`{pod.title}` keeps running at {hourly(pod.price_hr)}{until}"


def _team(owner: PodOwner) -> str:
    team = owner.team or owner.team_id or ""
    if owner.everybody:
        return f"{team}, shared with all members"
    members = len(owner.member_ids)
    return f"{team}, shared with {pluralize(members, 'member')}" if members else team


def _stop(plan: PodPlan) -> str:
    if plan.stop_at is None:
        return "only when you terminate it: this hub has no deadlines"
    return deadline_text(plan.stop_at, plan.begun_at)


def _estimate(plan: PodPlan) -> str:
    if plan.price is None or plan.disks_price is None:
        return _NO_PRICE
    if plan.estimate is None:
        return f"{format_usd(plan.price + plan.disks_price)} every hour"
    return f"{format_usd(plan.estimate)} until then"


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


def make(session: Session, order: Order, *, seconds: float | None) -> None:
    """Request the pod and return, or with `seconds` wait until it is up.

    A script also gets the pod if the wait fails, so that it can end it.
    """
    output = session.output
    pod = _create(session, order)
    if pod.id and seconds is not None:
        pod = _wait(session, pod, seconds)
    output.show(pod, lines=pod_lines(pod))
    if not pod.id:
        # The published API does not promise it.
        output.warn(
            "The pod was created, but the hub did not say its id",
            hint="find it with `prime pods list`",
        )
        return
    word = shortest_name(pod, order.taken)
    if seconds is None:
        output.hint(f"check its status with `prime pods status {word}`")
    output.hint(
        f"connect with `prime pods ssh {word}`, terminate it with `prime pods terminate {word}`"
    )


def _wait(session: Session, pod: Pod, seconds: float) -> Pod:
    seen = [pod]
    try:
        return wait_until_up(session.hub, pod, session.progress, seconds=seconds, seen=seen.append)
    except (PrimeError, KeyboardInterrupt, SystemExit) as error:
        if session.output.is_json:
            session.output.show(seen[-1])
        if not isinstance(error, PrimeError):
            session.output.tell(running_cost(seen[-1]))
            session.output.tell(f"terminate it with `prime pods terminate {pod.id}`")
        raise


def _create(session: Session, order: Order) -> Pod:
    key_id = _find_key_id(session, order.key)
    try:
        pod = session.hub.pods.create(creation_request(order.plan, key_id=key_id))
    except (KeyboardInterrupt, SystemExit):  # the latter is what SIGTERM becomes
        session.output.tell("A pod may have been created anyway: check `prime pods list`")
        raise
    remember("pods", filter(None, (pod.name, pod.id)))
    return pod


def _find_key_id(session: Session, key: Key) -> str | None:
    """The id of the one key that opens the pod, None for all; the user's is on the hub by then."""
    if key.id is not None:
        return key.id
    config = session.config
    identity = find_identity(config.home.value, key.file, config.ssh_key_path, session.progress)
    known = register_key(session.hub, public_line(identity), session.progress)
    return known.id if known is not None and key.file is not None else None
