"""What the packages of an installation require, all together."""

from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from packaging.requirements import Requirement

from prime_cli.core.refs import normalize_name
from prime_cli.runtime.families import LIBRARY, newest_release


@dataclass
class Needs:
    """What is gathered of each package.

    `limits` are constraints on verifiers, `sourced` requirements with the sources of their authors.
    """

    requirements: list[Requirement] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    sourced: list[str] = field(default_factory=list)
    pythons: list[str] = field(default_factory=list)

    @property
    def requires_python(self) -> str | None:
        """All of `pythons`, and those of the verifiers that will be taken."""
        asked = [*self.requirements, *map(Requirement, self.limits)]
        within = [r.specifier for r in asked if normalize_name(r.name) == LIBRARY]
        release = newest_release(within=reduce(and_, within)) if within else None
        pythons = [*self.pythons, *([release.python] if release else [])]
        return ",".join(dict.fromkeys(pythons)) or None
