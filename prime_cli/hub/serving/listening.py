"""Whether the port and the certificate can be used, asked before anything is served."""

import errno
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from prime_cli.core.errors import Conflict, NotAllowed, PrimeError, UsageError
from prime_cli.hub.serving.options import ServeOptions


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
            f"Port {port} of {host} is taken by another process", hint="choose one with `--port`"
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
            f"{options.tls_cert} and {options.tls_key} are no certificate and its key: {reason}",
            hint="give PEM files, the key without a password",
        ) from error


def _no_password() -> str:
    raise ValueError("the key has a password")
