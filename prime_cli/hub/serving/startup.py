"""From the operator's choices to a hub that runs: check everything first, then serve."""

import errno
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import exists, insert, select

from prime_cli.core.errors import Conflict, NotAllowed, PrimeError, UsageError
from prime_cli.hub.compute.local.limits import what_is_held
from prime_cli.hub.compute.local.served import prepare_ground
from prime_cli.hub.compute.sky.installation import find_python
from prime_cli.hub.context import Caller, Hub, open_hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import ADMIN, create_key
from prime_cli.hub.services.owners import USER, check_slug, find_owner
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.serving.proxies import read_networks
from prime_cli.hub.serving.server import serve
from prime_cli.hub.tokens import new_id

# --- Preflight ---


@contextmanager
def reserve_port(host: str, port: int) -> Iterator[int]:
    """`port`, or a free one for 0: nobody listens there, and only the workers can begin to.

    The workers share their port among them, and the system would let any other process of this
    user share it too. So it is bound alone, and shared from then on: another hub that starts at
    the same time asks for it alone, and is refused. Raises Conflict when it is taken, NotAllowed,
    UsageError for a bad host.
    """
    with _bind_alone(host, port) as reserved:
        number = int(reserved.getsockname()[1])
        if sys.platform == "win32":
            reserved.close()  # ports are not shared there: the one worker is to have it
        else:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        yield number


def _bind_alone(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # where it would take a port from who has it
                # A hub that was just stopped leaves connections behind; they are not in the way.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
        else:
            return bound
    except OSError as error:
        raise _refusal(host, port, error) from error


def _refusal(host: str, port: int, error: OSError) -> PrimeError:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Port {port} of {host} is used by another process", hint="choose one with `--port`"
        )
    if error.errno == errno.EACCES:
        return NotAllowed(f"Port {port} may not be used by this user", hint="choose one above 1023")
    return UsageError(
        f"`{host}` is not an address of this machine: {error.strerror}",
        hint="use `--host 127.0.0.1`, or `--host 0.0.0.0` for all addresses",
    )


def check_certificate(options: ServeOptions) -> None:
    """Raise UsageError unless certificate and key can be read and belong together."""
    if options.tls_cert is None and options.tls_key is None:
        return
    if options.tls_cert is None or options.tls_key is None:
        raise UsageError("TLS needs both `--tls-cert` and `--tls-key`")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls_cert, options.tls_key, _no_password)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error.args[-1]
        raise UsageError(
            f"{options.tls_cert} and {options.tls_key} are not a certificate and its key: {reason}",
            hint="give PEM files, the key without a password",
        ) from error


def _no_password() -> str:
    raise ValueError("the key has a password")


# --- First start ---


def make_admin(hub: Hub, slug: str) -> str | None:
    """Make the user `slug` an admin with a key, and return the key; None when there is an admin.

    Of several processes that start at once on one database, one gets a key. Raises Conflict when
    the name belongs to somebody else, UsageError for one that no user may have.
    """
    check_slug(slug)
    with hub.database.write() as connection:
        if connection.execute(select(exists().where(owners.c.admin))).scalar_one():
            return None
        if find_owner(connection, slug) is not None:
            raise Conflict(
                f"This hub has no admin, and `{slug}` is an existing user or team",
                hint="choose another name with `--admin NAME`",
            )
        user_id = new_id("user")
        connection.execute(
            insert(owners).values(
                id=user_id, slug=slug, type=USER, admin=True, created_at=hub.now()
            )
        )
        made = create_key(hub, connection, user_id, name="first start", scope=ADMIN)
        operator = Caller.operator()
        record(hub, connection, operator, "user.create", slug, admin=True)
        record(hub, connection, operator, "key.create", slug, key=made.id, scope=ADMIN)
        return made.key


# --- Start ---


@dataclass(frozen=True)
class Started:
    """A hub that is about to answer; `admin_key` only when its admin was just made.

    `pods_held` is what pods on its machine are held to (`cpu`, `memory`, `pids`), None where it
    gives none.
    """

    url: str
    place: str
    admin_key: str | None
    pods_held: frozenset[str] | None = None


def run(options: ServeOptions, announce: Callable[[Started], None]) -> None:
    """Serve until told to stop; `announce` is called once nothing can be in the way any more.

    Raises UsageError for providers that are not safe together, and what `check_certificate`,
    `read_networks`, `prepare_ground`, `find_python`, `reserve_port`, `open_hub` and `make_admin`
    raise.
    """
    check_certificate(options)
    read_networks(options.trusted_proxies)
    if options.local_pods and options.sky is not None:
        raise UsageError(
            "SkyPilot's server accepts every request on loopback, so users of pods on this machine "
            "could control it too",
            hint="run `--sky` and `--local-pods` on separate machines",
        )
    if options.local_pods:
        prepare_ground(options.pods_folder, options.pods_host)
    if options.sky is not None:
        find_python(options.sky)
    with reserve_port(options.host, options.port) as port:
        options = replace(options, port=port)
        hub = open_hub(options.settings())
        key = make_admin(hub, options.admin)
        # The processes that serve open their own.
        hub.database.engine.dispose()
        held = what_is_held() if options.local_pods else None
        started = Started(options.url, hub.database.name, key, held)
        serve(options, lambda: announce(started))
