"""All checks at once, each in bounded time."""

import threading
import time
from collections.abc import Callable, Sequence

from prime_cli.checks import (
    completion,
    disk,
    encoding,
    hub,
    keys,
    leftovers,
    modes,
    network,
    pods,
    python,
    sandbox,
    settings,
    shadowing,
    uv,
    workspace,
)
from prime_cli.checks.findings import Finding, failed
from prime_cli.checks.place import Place
from prime_cli.core.errors import PrimeError
from prime_cli.core.progress import Progress

Check = Callable[[Place], Sequence[Finding]]

CHECKS: dict[str, Check] = {
    "settings": settings.examine,
    "shadowing": shadowing.examine,
    "python": python.examine,
    "workspace": workspace.examine,
    "uv": uv.examine,
    "hub": hub.examine,
    "key": keys.examine,
    "pods": pods.examine,
    "modes": modes.examine,
    "network": network.examine,
    "encoding": encoding.examine,
    "sandbox": sandbox.examine,
    "disk": disk.examine,
    "leftovers": leftovers.examine,
    "completion": completion.examine,
}
"""In the order in which they are told."""


def examine(
    place: Place, progress: Progress, checks: dict[str, Check] | None = None
) -> list[Finding]:
    """The findings of all checks, in their order.

    They run side by side. One that takes longer than `place.limit` is left behind and told as
    failed, and so is one that raises.
    """
    chosen = CHECKS if checks is None else checks
    answers: dict[str, Sequence[Finding]] = {}
    threads = [_start(name, check, place, answers) for name, check in chosen.items()]
    deadline = time.monotonic() + place.limit
    with progress.task("Looking at this machine", total=len(threads), unit="checks") as task:
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            task.advance()
    told = dict(answers)
    return [found for name in chosen for found in told.get(name) or [_late(name, place)]]


def _start(
    name: str, check: Check, place: Place, answers: dict[str, Sequence[Finding]]
) -> threading.Thread:
    def run() -> None:
        try:
            answers[name] = check(place)
        except PrimeError as error:
            answers[name] = [failed(name, error.message, error.hint or "correct that first")]
        except Exception as error:  # noqa: BLE001 what one check meets must not hide the others
            sentence = f"The check itself failed ({type(error).__name__})"
            answers[name] = [failed(name, sentence, "report it, with what `prime doctor` prints")]

    # A daemon is not waited for at the end of the process either.
    thread = threading.Thread(target=run, name=f"check-{name}", daemon=True)
    thread.start()
    return thread


def _late(name: str, place: Place) -> Finding:
    sentence = f"Whatever this asks did not answer within {place.limit:g} seconds"
    return failed(name, sentence, "see whether a disk or a service of this machine hangs")
