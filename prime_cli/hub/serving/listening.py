"""Whether the port and the certificate can be used, asked before anything is served."""

import errno
import socket
import ssl

from prime_cli.core.errors import Conflict, NotAllowed, PrimeError, UsageError
from prime_cli.hub.serving.options import ServeOptions


def find_port(host: str, port: int) -> int:
    """`port`, or a free one for 0, once it is known that nobody listens there.

    The workers share their port among them, and the system would let any other process of this
    user share it too. Raises Conflict when it is taken, NotAllowed, UsageError for a bad host.
    """
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
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
