"""Finding what is there without need, and ending it."""

import msgspec


class Leak(msgspec.Struct, omit_defaults=True):
    """Something that costs or takes room without need, and whether it was ended.

    `kind` is what it is, as `pod past its deadline`; `failure` says why it could not be ended.
    """

    kind: str
    id: str
    name: str = ""
    provider: str = ""
    owner: str = ""
    ended: bool = False
    failure: str | None = None

    @property
    def title(self) -> str:
        """Its name, else its id."""
        return self.name or self.id


class Sweep(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`POST /pods/sweep` of our hubs."""

    dry_run: bool = False


class Swept(msgspec.Struct):
    """What a sweep found."""

    leaks: list[Leak] = []
