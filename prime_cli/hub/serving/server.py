"""Start a hub: preflight checks, the first admin, then granian's processes, which serve it."""

import gc
import logging
import multiprocessing
import os
import signal
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer
from sqlalchemy import exists, insert, select

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.core.paths import write_atomically
from prime_cli.hub.compute.provider import CheckedProvider
from prime_cli.hub.context import Caller, Hub, open_hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.access import USER, check_slug, find_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import ADMIN, create_key
from prime_cli.hub.serving.connections import watch_connections
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.serving.ports import answer_health, reserve_port
from prime_cli.hub.serving.proxies import read_networks
from prime_cli.hub.tokens import new_id

GRACE_SECONDS = 30
"""How long requests in progress may take after a signal to stop."""
_IDLE_SECONDS = 10
"""How long a connection may wait for a request, or take to send its head."""
_IDLE_SECONDS_OF_PROXIES = 75
"""As above, behind a proxy, which holds its clients' connections itself: it keeps those to the hub
for 60 seconds, and would have to answer 502 if it asked just as we hang up.
"""
_MOST_CONNECTIONS = 16_384
"""Open connections of all workers; more wait in the kernel. One address has hardly more ports than
twice that (28,232 by default on Linux), and an idle connection takes some 10 KiB.
"""
_OTHER_FILES = 1024
"""Files of a process that are not connections of clients: the database, uploads, the bucket."""
_REMEMBERED_SECONDS, _LONGEST_PAUSE, _LOOK_SECONDS = 60.0, 10.0, 0.05
_KILLED = 130

_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(levelname)s %(message)s"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "stream": "ext://sys.stderr",
        }
    },
    "loggers": {"_granian": {"handlers": ["stderr"], "propagate": False}},
}


class HubServer(MPServer):
    """A granian server that ends at once at the second signal, and never for want of its workers.

    granian itself gives up when a worker dies twice within seconds, which takes down the others.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._respawned: list[float] = []

    def _respawn_workers(self, *args: Any, **kwargs: Any) -> None:
        now = time.monotonic()
        self._respawned = [at for at in self._respawned if now - at < _REMEMBERED_SECONDS]
        # A worker that cannot start must not keep the machine busy.
        until = now + min(_LONGEST_PAUSE, 0.1 * (2 ** len(self._respawned) - 1))
        while time.monotonic() < until and not self.interrupt_signal:
            time.sleep(_LOOK_SECONDS)
        self._respawned.append(now)
        super()._respawn_workers(*args, **kwargs)
        self.respawned_wrks.clear()

    def has_worker(self) -> bool:
        """Whether a worker runs."""
        return any(worker.is_alive() for worker in self.wrks)  # type: ignore[no-untyped-call]

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if self.interrupt_signal:
            for worker in self.wrks:
                worker.kill()  # type: ignore[no-untyped-call]
            os._exit(_KILLED)
        super().signal_handler_interrupt(*args, **kwargs)  # type: ignore[no-untyped-call]


def serve(options: ServeOptions, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called once the server has started.

    Requests in progress may finish, for at most `GRACE_SECONDS`.
    """
    # A fork would share the parent's database connections and the locks of its threads.
    multiprocessing.set_start_method("spawn", force=True)
    idle = _IDLE_SECONDS_OF_PROXIES if options.trusted_proxies else _IDLE_SECONDS
    server = HubServer(
        "prime-hub",
        address=options.host,
        port=options.port,
        interface=Interfaces.ASGI,
        workers=options.workers,
        http=HTTPModes.http1,
        websockets=False,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * idle),
        backlog=_MOST_CONNECTIONS // 4,
        backpressure=max(1, _raise_file_limit() // options.workers),
        log_level=LogLevels.error,
        log_dictconfig=_LOGGING,
        ssl_cert=options.tls_cert,
        ssl_key=options.tls_key,
        ssl_protocol_min=SSLProtocols.tls12,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE_SECONDS,
    )
    server.on_startup(ready)
    health = answer_health(options.host, options.health_port, server.has_worker)
    with health, tempfile.TemporaryDirectory(prefix="prime-hub-") as numbers:
        # Where the workers add up what they count; read when prometheus_client is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = numbers
        server.serve(target_loader=partial(load_app, options), wrap_loader=False)


def _raise_file_limit() -> int:
    """Let this process and its workers open more files; how many connections they may hold then."""
    if sys.platform == "win32":
        return _MOST_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OTHER_FILES
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit - _OTHER_FILES


def load_app(options: ServeOptions) -> Any:
    """The application, created in the process that serves it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from prime_cli.hub.serving.application import create_served_app

    watch_connections(
        options.port,
        options.connections_of_a_process,
        options.pace,
        options.trusted_proxies,
        logging.getLogger(__name__).warning,
    )
    app = create_served_app(options)
    # What lives as long as this process is not searched for garbage again, which took 70 ms.
    gc.freeze()
    return app


def _end_with_parent() -> None:
    """Stop when the parent was killed, which would leave this process and its port behind.

    A process that is still starting ignores the signal, so it is repeated.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    wait([parent.sentinel])
    for _ in range(GRACE_SECONDS):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    os._exit(_KILLED)


# --- Preflight ---


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
            hint="use PEM files and a key without a password",
        ) from error


def _no_password() -> str:
    raise ValueError("the key has a password")


# --- First start ---

ADMIN_KEY = "admin.key"
"""The file in the folder of data for the first key, where no terminal shows it."""


def make_admin(hub: Hub, slug: str) -> str | None:
    """Create the admin `slug` and return its key; None when there is an admin already.

    Of several processes that start on one database, one gets a key. Raises Conflict when the name
    is taken, UsageError for an invalid one.
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
class ReadyHub:
    """A hub that is about to serve.

    Only when its admin was just created, the key is in `admin_key`, or was written to `key_file`.
    """

    url: str
    database: str
    admin_key: str | None
    key_file: Path | None = None


def run(
    options: ServeOptions, announce: Callable[[ReadyHub], None], *, keep_key: bool = False
) -> None:
    """Serve until stopped; `announce` is called when every check has passed.

    With `keep_key` the key of a new admin is written to a file in the folder of data, readable by
    its owner only, and not announced. Raises what `check_certificate`, `read_networks`, the
    providers, `reserve_port`, `open_hub` and `make_admin` raise.
    """
    check_certificate(options)
    read_networks(options.trusted_proxies)
    with reserve_port(options.host, options.port) as port:
        # An engine that does not answer, or has no image, is not found by the first user.
        for provider in options.pods.providers(options.data):
            if isinstance(provider, CheckedProvider):
                provider.require_ready()
        options = replace(options, port=port)
        hub = open_hub(options.settings())
        key = make_admin(hub, options.admin)
        # The workers open their own connections.
        hub.database.engine.dispose()
        started = ReadyHub(options.url, hub.database.name, key)
        if key is not None and keep_key:
            file = options.data / ADMIN_KEY
            write_atomically(file, f"{key}\n".encode())
            started = replace(started, admin_key=None, key_file=file)
        serve(options, lambda: announce(started))
