"""Asking for a pod that was agreed to, and waiting for it."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from prime_cli.api.client import HubClient
from prime_cli.commands.pods.planned import left_behind, pod_lines
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError
from prime_cli.pods import public_keys
from prime_cli.pods.creation import Plan, request_of
from prime_cli.pods.finding import word_for
from prime_cli.pods.identity import find_identity, is_here, public_line
from prime_cli.pods.registration import register_key
from prime_cli.pods.waiting import wait_until_up
from prime_cli.session import Session
from prime_cli.wire.pods import Pod


@dataclass(frozen=True)
class Key:
    """What `--ssh-key` says: a key on the hub by its id, or a file, or nothing."""

    id: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class Order:
    """What was agreed to, the key that opens it, and the names that other pods have."""

    plan: Plan
    key: Key
    taken: Collection[str | None]


def find_key(hub: HubClient, word: str | None) -> Key:
    """The key on the hub with this name, id or fingerprint, else the file of that name.

    Raises UsageError where several are meant, and NotFound for neither a key nor a file.
    """
    if word is None:
        return Key()
    with suppress(NotFound, NotAllowed):  # a hub that keeps no keys, or shows them to nobody
        return Key(public_keys.find_key(hub, word).id)
    if not is_here(word):
        raise NotFound(
            f"There is no key `{word[:80]}` on {hub.host}, and no such file here",
            hint="`prime ssh-keys list` shows those there are",
        )
    return Key(file=word)


def make(session: Session, order: Order) -> None:
    """Ask for the pod, and leave while it is made."""
    pod = _ask_for(session, order)
    word = word_for(pod, order.taken)
    session.output.show(pod, lines=pod_lines(pod))
    session.output.hint(f"see it come up with `prime pods status {word}`")
    _tell_next(session, word)


def make_and_wait(session: Session, order: Order, *, seconds: float) -> None:
    """Ask for the pod, and stay until it is up.

    A script is given the pod also where that fails, so that it can end it.
    """
    pod = _ask_for(session, order)
    seen = [pod]
    try:
        pod = wait_until_up(session.hub, pod, session.progress, seconds=seconds, seen=seen.append)
    except (PrimeError, KeyboardInterrupt, SystemExit) as error:
        if session.output.is_json:
            session.output.show(seen[-1])
        if not isinstance(error, PrimeError):
            session.output.tell(left_behind(seen[-1]))
            session.output.tell(f"`prime pods terminate {pod.id}` ends it")
        raise
    session.output.show(pod, lines=pod_lines(pod))
    _tell_next(session, word_for(pod, order.taken))


def _ask_for(session: Session, order: Order) -> Pod:
    key_id = _opening(session, order.key)
    try:
        pod = session.hub.pods.create(request_of(order.plan, key_id=key_id))
    except (KeyboardInterrupt, SystemExit):  # the latter is what SIGTERM becomes
        session.output.tell("A pod may have been made all the same: see `prime pods list`")
        raise
    remember("pods", filter(None, (pod.name, pod.id)))
    return pod


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
        f"log in with `prime pods ssh {word}`, give it back with `prime pods terminate {word}`"
    )
