"""Waiting until somebody lets this client in, on a page of the hub or on its machine."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prime_cli.accounts.addresses import approval_page
from prime_cli.accounts.challenge import Challenge
from prime_cli.core.errors import NotAllowed, NotFound, Offline, Unreachable
from prime_cli.core.progress import Progress

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient
    from prime_cli.api.logins import PendingLogin

LOGIN_SECONDS = 600.0
"""How long the codes of the public hub and of ours are good."""
POLL_SECONDS = 2.0
_MOST_FAILURES = 5
_AGAIN = "begin again with `prime login`"


@dataclass(frozen=True)
class Approval:
    """What is to be shown: the code to compare, and the page that asks for it."""

    code: str
    page: str


def wait_for_key(
    hub: "HubClient",
    web_url: str,
    show: Callable[[Approval], None],
    progress: Progress,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """An API key of `hub`, once somebody has approved what `show` was given.

    Raises NotAllowed when it is refused, or when nobody approves in ten minutes, UsageError where
    the hub has no such logins, IntegrityError for a key that is not for this login, Unreachable.
    """
    challenge = Challenge()
    try:
        login = hub.logins.begin(challenge.public_key)
    except NotFound as error:
        raise NotAllowed(
            f"{hub.host} lets nobody in by browser",
            hint="give it a key with `prime login --token-stdin`",
        ) from error
    show(Approval(login.code, approval_page(web_url, login.code)))
    with progress.task(f"Waiting for {login.code} to be approved"):
        result = _wait(hub, login, sleep, clock)
    return challenge.open(result, hub.host)


def _wait(
    hub: "HubClient",
    login: "PendingLogin",
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> str:
    until = clock() + LOGIN_SECONDS
    failures = 0
    while clock() < until:
        sleep(POLL_SECONDS)
        try:
            result = hub.logins.poll(login)
        except NotFound as error:
            raise NotAllowed(
                "The login was refused, or its code has expired", hint=_AGAIN
            ) from error
        except Offline:
            raise
        except Unreachable:
            # Whoever approves on a phone may just be changing networks.
            failures += 1
            if failures == _MOST_FAILURES:
                raise
            continue
        if result:
            return result
        failures = 0
    raise NotAllowed("Nobody approved the login within ten minutes", hint=_AGAIN)
