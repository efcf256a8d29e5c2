"""Whether a pod lets us in, and if not, why: told from what ssh says when it gives up."""

from dataclasses import dataclass
from enum import Enum

from prime_cli.core.process import Completed, TimedOut, run
from prime_cli.pods.ssh.routes import Route, for_commands

_CONNECT_SECONDS = 10
_THROUGH_SECONDS = 35
"""Through a program of a provider (ProxyCommand): SkyPilot's was seen to take nine on two cores."""
_SECONDS = 40.0
SSH_FAILED = 255
"""The exit code of ssh where it is ssh itself that failed."""


class Answer(Enum):
    """What a pod made of an attempt to log in."""

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
    # In this order: more is said after a host key that changed, or before a refusal.
    (
        Answer.OTHER_HOST_KEY,
        ("host key verification failed", "host identification has changed"),
    ),
    (Answer.DENIED, ("permission denied (", "too many authentication failures")),
    (Answer.UNKNOWN_NAME, ("could not resolve hostname",)),
    (Answer.SILENT, _SILENCE),
)


@dataclass(frozen=True)
class Probe:
    """An attempt, and the last lines that ssh said of it."""

    answer: Answer
    said: str = ""


def probe(route: Route) -> Probe:
    """Log in, run `true`, and come back; nobody is asked for anything."""
    seconds = _CONNECT_SECONDS if route.host is None else _THROUGH_SECONDS
    argv = [
        *route.ssh(
            *("-T", "-o", "BatchMode=yes"),
            *("-o", f"ConnectTimeout={seconds}"),
            *for_commands(),
        ),
        "true",
    ]
    try:
        done = run(argv, timeout=_SECONDS)
    except TimedOut as error:
        return Probe(Answer.SILENT, error.partial.last_lines(3) or "it does not go on")
    # Another code is that of the account's shell, which was reached.
    if done.code != SSH_FAILED:
        return Probe(Answer.READY)
    return read_failure(done.err)


def read_failure(said: str) -> Probe:
    """What the words of an ssh that failed mean; what is not known is BROKEN."""
    words = Completed(SSH_FAILED, "", said.replace("\r", "")).last_lines(3)
    for answer, signs in _SIGNS:
        if any(sign in said.lower() for sign in signs):
            return Probe(answer, words)
    return Probe(Answer.BROKEN, words)
