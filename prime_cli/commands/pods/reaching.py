"""What `ssh`, `exec` and `cp` share: their options, and the way to a pod."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from prime_cli.core.errors import NotFound, Offline, PrimeError, Unreachable
from prime_cli.core.formatting import parse_duration
from prime_cli.pods.identity import find_identity
from prime_cli.pods.past import Found, find_present_or_past
from prime_cli.pods.ssh.aliases import keep_alias
from prime_cli.pods.ssh.files import SshFiles
from prime_cli.pods.ssh.reaching import Wish, find_route, reach
from prime_cli.pods.ssh.routes import Route
from prime_cli.session import Session
from prime_cli.wire.pods import Pod

IdentityOpt = Annotated[
    str | None,
    typer.Option("--identity", "-i", metavar="FILE", help="The private key to log in with."),
]
NodeOpt = Annotated[
    int, typer.Option("--node", metavar="N", min=0, help="Which of several nodes, from 0.")
]
TimeoutOpt = Annotated[
    str | None,
    typer.Option("--timeout", metavar="TIME", help="How long to wait.", show_default="10m"),
]


def find_way(
    session: Session,
    word: str,
    *,
    identity: str | None,
    node: int,
    timeout: str | None,
    wait: bool = True,
) -> Route:
    """The way to the pod that `word` means, once it lets us in; unless `wait`, as it is now."""
    seconds = None if timeout is None else float(parse_duration(timeout))
    pod = _find(session, word)
    config = session.config
    wish = Wish(
        home=config.home.value,
        identity=find_identity(config.home.value, identity, config.ssh_key_path, session.progress),
        node=node,
        timeout=seconds,
        can_type=session.output.is_interactive,
    )
    if not wait:
        return _route_now(session, pod, wish)
    if config.offline:
        raise Offline(f"`{word}` is reached by a connection, and `--offline` opens none")
    route = reach(session.hub, pod, wish, session.progress)
    # `prime gc` learns from the aliases which hub to ask whether a pod is still there.
    keep_alias(SshFiles(config.home.value), session.hub.base_url, route)
    return route


@contextmanager
def noticing_the_end(session: Session, route: Route) -> Iterator[None]:
    """Tell a connection that broke because its pod ended meanwhile as that, as at a deadline."""
    try:
        yield
    except Unreachable as error:
        if not _has_ended(session, route):
            raise
        raise Unreachable(
            f"`{route.name}` has ended meanwhile", hint="`prime pods history` shows when"
        ) from error


def _has_ended(session: Session, route: Route) -> bool:
    try:
        return isinstance(find_present_or_past(session.hub, route.pod_id), Found)
    except PrimeError:  # nothing is known for certain then
        return False


def _route_now(session: Session, pod: Pod, wish: Wish) -> Route:
    route = find_route(session.hub, pod, wish)
    if route is None:
        raise Unreachable(
            f"`{pod.title}` is {pod.shown_status} and has no address yet",
            hint="without `--no-wait` it is waited for",
        )
    return route


def _find(session: Session, word: str) -> Pod:
    found = find_present_or_past(session.hub, word)
    if isinstance(found, Found):
        raise NotFound(
            f"`{found.pod.title}` has ended", hint="`prime pods history` shows those that ended"
        )
    return found
