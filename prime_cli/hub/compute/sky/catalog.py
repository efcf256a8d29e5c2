"""What SkyPilot can rent, fetched at most every few minutes for all processes together."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from prime_cli.core.errors import Conflict, NotFound, Unreachable, UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import write_atomically
from prime_cli.hub.compute.sky.installation import SkyInstallation
from prime_cli.hub.compute.sky.machines import SkyOffer, read_machines
from prime_cli.wire.codec import decode, encode

# --- One question at a time ---

T = TypeVar("T")


def single_flight(
    file: Path, seconds: float, kept: Callable[[], T | None], ask: Callable[[], T]
) -> T:
    """The cached answer in `file`, if `kept` accepts it, else that of `ask`, cached there.

    A query costs seconds and 160 MB, and a minute while SkyPilot's server starts: impatient clients
    that retry must not cause another one. Raises Unreachable if another process has been at it for
    `seconds`, and what `ask` raises.
    """
    found = kept()
    if found is not None:
        return found
    try:
        with locked(file.with_suffix(".lock"), seconds=seconds):
            found = kept()
            return ask() if found is None else found
    except Conflict as error:
        raise Unreachable(
            "SkyPilot has not answered yet",
            hint="try again in a minute: its server may still be starting",
        ) from error


# --- The catalog ---

_FRESH_SECONDS = 300.0
_ASK_SECONDS = 300.0
"""Catalogs of clouds are fetched on first use."""


@dataclass(frozen=True)
class Catalog:
    """The machines of `infra` (everything SkyPilot may use if empty).

    If another process is already fetching them, waits up to `patience` seconds.
    """

    installation: SkyInstallation
    file: Path
    infra: tuple[str, ...] = ()
    patience: float = _ASK_SECONDS
    now: Callable[[], float] = time.time

    def machines(self) -> list[SkyOffer]:
        """All machines; raises PrimeError if SkyPilot cannot list them."""
        return read_machines(self._answer()["rows"])

    def uploaded(self) -> list[str]:
        """The files with its user's credentials that SkyPilot would copy to each machine."""
        return list(self._answer()["uploaded"])

    def find(self, cloud_id: str) -> SkyOffer:
        """The machine of an offer; raises NotFound."""
        for machine in self.machines():
            if machine.offer.cloud_id == cloud_id:
                return machine
        raise NotFound(
            f"SkyPilot does not offer `{cloud_id}` now", hint="`prime availability list` shows all"
        )

    def _answer(self) -> dict[str, Any]:
        key = [self.installation.command, *self.infra]
        return single_flight(
            self.file, self.patience, lambda: self._kept(key), lambda: self._asked(key)
        )

    def _asked(self, key: list[str]) -> dict[str, Any]:
        question = {"infra": list(self.infra)}
        answer = self.installation.ask("offers", question, _ASK_SECONDS)
        write_atomically(self.file, encode({"at": self.now(), "of": key, "answer": answer}))
        return dict(answer)

    def _kept(self, key: list[str]) -> dict[str, Any] | None:
        with suppress(OSError, UsageError, KeyError):
            kept = decode(self.file.read_bytes(), dict[str, Any])
            age = self.now() - kept["at"]
            if kept["of"] == key and 0 <= age < _FRESH_SECONDS:
                return dict(kept["answer"])
        return None
