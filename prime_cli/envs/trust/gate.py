"""Whether the code of an environment may be installed or run here; strangers are asked about."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.errors import (
    IntegrityError,
    NotAllowed,
    NotFound,
    NotTrusted,
    StorageFailed,
    Unreachable,
)
from prime_cli.core.paths import prime_home
from prime_cli.core.refs import EnvRef
from prime_cli.envs.trust.owners import TrustedOwners

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class Newcomer:
    """Somebody who is not trusted yet: `ref` on the hub of origin `hub`, and what its wheel is.

    `sha256` is None for a wheel that is yet to be built, which already runs the owner's code.
    """

    hub: str
    ref: EnvRef
    sha256: str | None


Ask = Callable[[Newcomer], bool]
"""Asks a person; what it raises stands where there is nobody to ask."""

Pins = Callable[[EnvRef], str | None]
"""The sha256 that something on this disk, such as a `prime.lock`, pins an exact version to."""


def nobody(newcomer: Newcomer) -> bool:
    """The answer where nobody can be asked: raises NotTrusted, naming the ways to go ahead."""
    ref = newcomer.ref
    pin = f"pin it as `{ref}#sha256={newcomer.sha256}`, " if newcomer.sha256 else ""
    raise NotTrusted(
        f"`{ref.owner}` on {newcomer.hub} is not trusted here, and this would run their code",
        hint=f"{pin}add `--yes`, set PRIME_TRUST={ref.owner}, or `prime env trust {ref.owner}`",
    )


def nothing(ref: EnvRef) -> None:
    """Pins of a folder without a lock."""


@dataclass(frozen=True)
class Gate:
    """What decides. Without arguments it admits what needs no question, and refuses the rest.

    `named` are owners (`ada`, or `hub.example/ada` on one hub) that the user's settings trust;
    `yes` answers the question beforehand. With `require_signature` a wheel needs that of a signer
    whom the user allows for its owner, too.
    """

    home: Path = field(default_factory=prime_home)
    named: Collection[str] = ()
    ask: Ask = nobody
    yes: bool = False
    pins: Pins = nothing
    require_signature: bool = False

    def pin_of(self, asked: EnvRef, found: EnvRef) -> str | None:
        """The sha256 that the wheel of `found` must have: as asked for, else as locked."""
        return asked.sha256 or self.pins(found)

    def admit(
        self, hub: "HubClient", ref: EnvRef, sha256: str | None, *, pin: str | None = None
    ) -> None:
        """Return if the wheel of `ref` (an exact version) may be used; its owner is then known.

        Everything of the hub in the box passes, for it was published here; so do a wheel that is
        pinned to its sha256, and the environments of the hub's user and of the user's teams.
        Raises IntegrityError for a wheel other than the pinned one, NotTrusted when the answer
        was no or nobody could be asked.
        """
        if pin is not None and sha256 is not None:
            check_pin(ref, sha256, pin)
            return
        if hub.in_process or self._is_named(hub, ref.owner):
            return
        owners = TrustedOwners(self.home)
        if owners.has(hub.base_url, ref.owner):
            return
        if is_own(hub, ref.owner):
            # Remembered, as offline the hub cannot be asked who the user is.
            with suppress(StorageFailed):
                owners.add(hub.base_url, ref.owner, how="own")
            return
        if not self.yes and not self.ask(Newcomer(hub.base_url, ref, sha256)):
            raise NotTrusted(f"`{ref.owner}` on {hub.host} is not trusted, so nothing was done")
        with suppress(StorageFailed):  # a job with a read-only home says `--yes` each time
            owners.add(hub.base_url, ref.owner, how="--yes" if self.yes else "asked")

    def _is_named(self, hub: "HubClient", owner: str) -> bool:
        return owner in self.named or f"{hub.host}/{owner}" in self.named


def check_pin(ref: EnvRef, sha256: str, pin: str) -> None:
    """Raise IntegrityError unless a wheel of `ref` with `sha256` is the pinned one."""
    if sha256 != pin:
        raise IntegrityError(
            f"The wheel of {ref} has sha256 {sha256}, and {pin} is pinned",
            hint=f"see what the hub has with `prime env versions {ref.slug} --full-hashes`",
        )


def is_own(hub: "HubClient", owner: str) -> bool:
    """Whether `owner` is the user of the hub's key, or one of the user's teams."""
    if not hub.has_key:
        return False
    try:
        if hub.accounts.whoami().slug == owner:
            return True
        return any(team.slug == owner for team in hub.accounts.teams().data)
    except (Unreachable, NotAllowed, NotFound):
        return False
