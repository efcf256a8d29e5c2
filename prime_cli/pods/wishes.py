"""What people write of a pod that they want: sizes, a name, variables."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from prime_cli.core.errors import UsageError
from prime_cli.wire.disks import Disk
from prime_cli.wire.offers import GpuOffer
from prime_cli.wire.pods import Variable

_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9-]{1,60}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Wishes:
    """What is asked of a pod beside the offer that it is made of.

    Sizes are in GB; None is the offer's default. `life` is how long it is to be there, None where
    nothing was said. `team` is the slug of the team, for people.
    """

    name: str
    disk_size: int | None = None
    vcpus: int | None = None
    memory: int | None = None
    image: str | None = None
    template: str | None = None
    variables: tuple[Variable, ...] = field(default=(), repr=False)
    disks: tuple[Disk, ...] = ()
    team_id: str | None = None
    team: str | None = None
    shared: bool = False
    member_ids: tuple[str, ...] = ()
    life: timedelta | None = None
    nodes: int = 1
    max_price: float | None = None


def read_variables(words: Iterable[str], environ: Mapping[str, str]) -> tuple[Variable, ...]:
    """Variables of `KEY=VALUE`, or of `KEY` alone, which is taken from `environ`.

    The value may contain `=`. Raises UsageError, which shows no value.
    """
    found: dict[str, str] = {}
    for word in words:
        name, has_value, value = word.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise UsageError(
                f"`{name[:40]}` is not the name of an environment variable",
                hint="write `--env KEY=VALUE`, or `--env KEY` to take it from your environment",
            )
        if not has_value and name not in environ:
            raise UsageError(
                f"The variable `{name}` is not set here",
                hint=f"set it, or write `--env {name}=VALUE`",
            )
        found[name] = value if has_value else environ[name]
    return tuple(Variable(name, value) for name, value in found.items())


def free_name(offer: GpuOffer, taken: Iterable[str | None]) -> str:
    """A name that no other pod has: `h100-8`, `h100-8-2`."""
    base = f"{offer.gpu_type.lower().split('_')[0]}-{offer.gpu_count}"
    base = re.sub(r"[^a-z0-9-]", "-", base)
    used, number, name = set(taken), 1, base
    while name in used:
        number += 1
        name = f"{base}-{number}"
    return name


def check_name(name: str) -> None:
    """Raise UsageError for what cannot be the name of a pod."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name[:80]}` cannot be the name of a pod",
            hint="use up to 60 letters, digits and dashes, at least one of them a letter",
        )
