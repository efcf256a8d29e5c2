"""What is said of a pod that cannot be reached."""

from prime_cli.core.errors import (
    EnvironmentFailed,
    IntegrityError,
    NotAllowed,
    PrimeError,
    Unreachable,
    UsageError,
)
from prime_cli.pods.identity import fingerprint, is_in_agent, needs_passphrase
from prime_cli.pods.ssh.probing import Answer, Probe
from prime_cli.pods.ssh.routes import Route


def refusal(route: Route, seen: Probe) -> PrimeError:
    """The failure that an answer stands for."""
    return _MAKERS[seen.answer](route, seen)


def is_locked(route: Route) -> bool:
    """Whether the key was not offered, because nobody has typed its passphrase."""
    return needs_passphrase(route.identity) and not is_in_agent(route.identity)


def locked(route: Route) -> PrimeError:
    """The key of a route needs somebody to type its passphrase."""
    return UsageError(
        f"{route.identity.file} needs a passphrase, and nobody can type it here",
        hint=f"`ssh-add {route.identity.file}` lets an agent hold the key",
    )


def _denied(route: Route, seen: Probe) -> PrimeError:
    if is_locked(route):
        return locked(route)
    key = route.identity.file
    return NotAllowed(
        f"`{route.name}` does not let in {key} ({fingerprint(route.identity)})",
        detail=seen.said,
        hint="name the key that the pod was made for with `--identity`; "
        f"`prime ssh-keys add {route.identity.public_file}` opens pods made after it",
    )


def _other_host_key(route: Route, seen: Probe) -> PrimeError:
    if route.pinned:
        return IntegrityError(
            f"`{route.name}` has not the host key that the hub says: it is not your pod",
            detail=seen.said,
            hint="nothing was sent; ask whoever runs the hub",
        )
    return IntegrityError(
        f"`{route.name}` has another host key than before: it may not be your pod",
        detail=seen.said,
        hint=f"if it was set up anew, remove {route.known_hosts} and connect again",
    )


def _unknown_name(route: Route, seen: Probe) -> PrimeError:
    return Unreachable(
        f"The name {route.address.host} of `{route.name}` is not known here", detail=seen.said
    )


def _silent(route: Route, seen: Probe) -> PrimeError:
    address = route.address
    return Unreachable(
        f"`{route.name}` does not answer at {address.host}, port {address.port}",
        detail=seen.said,
        hint=f"`prime pods status {route.pod_id}` shows how it is; `--timeout` waits longer",
    )


def _broken(route: Route, seen: Probe) -> PrimeError:
    return EnvironmentFailed(f"ssh does not connect to `{route.name}`", detail=seen.said)


_MAKERS = {
    Answer.DENIED: _denied,
    Answer.OTHER_HOST_KEY: _other_host_key,
    Answer.UNKNOWN_NAME: _unknown_name,
    Answer.SILENT: _silent,
    Answer.BROKEN: _broken,
}
