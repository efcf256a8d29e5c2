"""Whether a pod lets us in, and if not, why, judging by ssh's last output."""

from dataclasses import dataclass
from enum import Enum

from prime_cli.core.errors import (
    EnvironmentFailed,
    IntegrityError,
    NotAllowed,
    PrimeError,
    Unreachable,
    UsageError,
)
from prime_cli.core.process import Completed, TimedOut, run
from prime_cli.pods.ssh.identity import fingerprint, is_in_agent, needs_passphrase
from prime_cli.pods.ssh.routes import SshRoute, command_options

_CONNECT_SECONDS = 10
_THROUGH_SECONDS = 35
"""Through a provider's program (ProxyCommand): SkyPilot's was seen to take nine on two cores."""
_SECONDS = 40.0
SSH_FAILED = 255
"""ssh's exit code for its own failures."""


class ProbeAnswer(Enum):
    """How a pod responded to a login attempt."""

    READY = "ready"
    SILENT = "does not answer"
    UNKNOWN_NAME = "its name is not known"
    DENIED = "the key is not let in"
    OTHER_HOST_KEY = "another host key"
    BROKEN = "ssh does not start"


_SILENCE = (
    "connection refused", "timed out", "no route to host", "network is unreachable",
    "network is down", "host is unreachable", "host is down", "connection closed",
    "connection reset", "banner exchange", "kex_exchange_identification", "broken pipe",
    "closed by remote host", "unexpectedly closed", "not responding", "lost connection",
)  # fmt: skip
_SIGNS = (
    # In this order: more output follows a changed host key, or precedes a probe_error.
    (
        ProbeAnswer.OTHER_HOST_KEY,
        ("host key verification failed", "host identification has changed"),
    ),
    (ProbeAnswer.DENIED, ("permission denied (", "too many authentication failures")),
    (ProbeAnswer.UNKNOWN_NAME, ("could not resolve hostname",)),
    (ProbeAnswer.SILENT, _SILENCE),
)


@dataclass(frozen=True)
class SshProbe:
    """An attempt, and ssh's last lines about it."""

    answer: ProbeAnswer
    stderr: str = ""


def probe(route: SshRoute) -> SshProbe:
    """Log in, run `true`, and return, without prompting."""
    seconds = _CONNECT_SECONDS if route.host is None else _THROUGH_SECONDS
    argv = [
        *route.ssh(
            *("-T", "-o", "BatchMode=yes"),
            *("-o", f"ConnectTimeout={seconds}"),
            *command_options(),
        ),
        "true",
    ]
    try:
        done = run(argv, timeout=_SECONDS)
    except TimedOut as error:
        return SshProbe(ProbeAnswer.SILENT, error.partial.last_lines(3) or "it stopped responding")
    # Any other code is from the account's shell, which was reached.
    if done.code != SSH_FAILED:
        return SshProbe(ProbeAnswer.READY)
    return read_failure(done.err)


def read_failure(stderr: str) -> SshProbe:
    """Interpret the output of a failed ssh; unknown messages are BROKEN."""
    words = Completed(SSH_FAILED, "", stderr.replace("\r", "")).last_lines(3)
    for answer, signs in _SIGNS:
        if any(sign in stderr.lower() for sign in signs):
            return SshProbe(answer, words)
    return SshProbe(ProbeAnswer.BROKEN, words)


def probe_error(route: SshRoute, seen: SshProbe) -> PrimeError:
    """The error for an answer."""
    return _MAKERS[seen.answer](route, seen)


def needs_typed_passphrase(route: SshRoute) -> bool:
    """Whether the key was not offered because its passphrase was not typed."""
    return needs_passphrase(route.identity) and not is_in_agent(route.identity)


def passphrase_needed(route: SshRoute) -> PrimeError:
    """The error for a key whose passphrase somebody must type."""
    return UsageError(
        f"{route.identity.file} needs a passphrase, and there is no terminal to type it",
        hint=f"add it to an agent with `ssh-add {route.identity.file}`",
    )


def _denied(route: SshRoute, seen: SshProbe) -> PrimeError:
    if needs_typed_passphrase(route):
        return passphrase_needed(route)
    key = route.identity.file
    return NotAllowed(
        f"`{route.name}` rejected {key} ({fingerprint(route.identity)})",
        detail=seen.stderr,
        hint="name the key that the pod was made for with `--identity`; "
        f"`prime ssh-keys add {route.identity.public_file}` opens pods made after it",
    )


def _other_host_key(route: SshRoute, seen: SshProbe) -> PrimeError:
    if route.pinned:
        return IntegrityError(
            f"`{route.name}` does not have the host key reported by the hub: it is not your pod",
            detail=seen.stderr,
            hint="nothing was sent; tell the hub's administrator",
        )
    return IntegrityError(
        f"`{route.name}` has another host key than before: it may not be your pod",
        detail=seen.stderr,
        hint=f"if it was reinstalled, delete {route.known_hosts} and connect again",
    )


def _unknown_name(route: SshRoute, seen: SshProbe) -> PrimeError:
    return Unreachable(
        f"The host name {route.address.host} of `{route.name}` cannot be resolved",
        detail=seen.stderr,
    )


def _silent(route: SshRoute, seen: SshProbe) -> PrimeError:
    address = route.address
    return Unreachable(
        f"`{route.name}` does not respond at {address.host}, port {address.port}",
        detail=seen.stderr,
        hint=f"`prime pods status {route.pod_id}` shows its status; wait longer with `--timeout`",
    )


def _broken(route: SshRoute, seen: SshProbe) -> PrimeError:
    return EnvironmentFailed(f"ssh cannot connect to `{route.name}`", detail=seen.stderr)


_MAKERS = {
    ProbeAnswer.DENIED: _denied,
    ProbeAnswer.OTHER_HOST_KEY: _other_host_key,
    ProbeAnswer.UNKNOWN_NAME: _unknown_name,
    ProbeAnswer.SILENT: _silent,
    ProbeAnswer.BROKEN: _broken,
}
