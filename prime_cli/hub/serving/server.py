"""The processes that listen: granian, which keeps HTTP and TLS out of Python's way."""

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from prime_cli.hub.serving.options import ServeOptions

GRACE_SECONDS = 30
"""How long requests under way may take to end after the hub was told to stop."""
_IDLE_MILLISECONDS = 75_000
"""How long a connection may wait for a request, or take to send its head.

Proxies keep theirs for 60 seconds, and one that asks just as we hang up would have to answer 502.
"""
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


class Server(MPServer):
    """A granian that ends at once when it is told to stop a second time."""

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if self.interrupt_signal:
            for worker in self.wrks:
                worker.kill()  # type: ignore[no-untyped-call]
            os._exit(_KILLED)
        super().signal_handler_interrupt(*args, **kwargs)  # type: ignore[no-untyped-call]


def serve(options: ServeOptions, ready: Callable[[], None]) -> None:
    """Serve until told to stop by SIGTERM or SIGINT; `ready` is called when the port is ours.

    Requests under way are finished first, for `GRACE_SECONDS` at most.
    """
    # A fork would share the parent's database connections and the locks of its threads.
    multiprocessing.set_start_method("spawn", force=True)
    server = Server(
        "prime-hub",
        address=options.host,
        port=options.port,
        interface=Interfaces.ASGI,
        workers=options.workers,
        http=HTTPModes.http1,
        websockets=False,
        http1_settings=HTTP1Settings(header_read_timeout=_IDLE_MILLISECONDS),
        log_level=LogLevels.error,
        log_dictconfig=_LOGGING,
        ssl_cert=options.tls_cert,
        ssl_key=options.tls_key,
        ssl_protocol_min=SSLProtocols.tls12,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE_SECONDS,
    )
    server.on_startup(ready)
    with tempfile.TemporaryDirectory(prefix="prime-hub-") as numbers:
        # Where the workers add up what they count; read when prometheus_client is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = numbers
        server.serve(target_loader=partial(load_app, options), wrap_loader=False)


def load_app(options: ServeOptions) -> Any:
    """The application, made in the process that serves it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from prime_cli.hub.serving.application import create_served_app

    return create_served_app(options)


def _end_with_parent() -> None:
    """Stop when the parent was killed: nobody could stop this process, and its port is taken.

    One that is only about to listen forgets that it was told, so it is told until it has ended.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    wait([parent.sentinel])
    for _ in range(GRACE_SECONDS):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    os._exit(_KILLED)
