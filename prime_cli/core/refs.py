"""Names of environments: `owner/name[extra]@version` at the edges, `EnvRef` inside."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from prime_cli.core.digests import is_sha256
from prime_cli.core.errors import BadReference, UsageError

LATEST = "latest"

_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_SHORTEST_SLUG = 3
_PIN = "#sha256="
LONGEST_VERSION = 128
"""Characters; with a name of 100 and the tags of a wheel, what the name of a file has room for."""
_VERSION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.!+_-]{0,126}[A-Za-z0-9])?")


@dataclass(frozen=True)
class EnvRef:
    """An environment on a hub; `version` None means the newest finalised one.

    `sha256` (64 hexadecimal digits) is its wheel's pinned digest, if any, and `extras` are those of
    its package to be installed. Both are not part of the name: `str` omits them.
    """

    owner: str
    name: str
    version: str | None = None
    sha256: str | None = None
    extras: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "EnvRef":
        """Read `owner/name`, perhaps with `[EXTRA,…]`, `@VERSION` and `#sha256=HEX` in this order.

        Raises BadReference on anything else.
        """
        plain, extras = split_extras(text.strip())
        named, hashed, pin = plain.partition(_PIN)
        slug, at, version = named.rpartition("@")
        if not at:
            slug, version = version, ""
        owner, slash, name = slug.partition("/")
        if not (slash and _PART.fullmatch(owner) and _PART.fullmatch(name)):
            raise BadReference(
                f"`{text}` is not an environment",
                hint="write `owner/name` or `owner/name@version`, as in `prime env list`",
            )
        if at and not _VERSION.fullmatch(version):
            raise BadReference(
                f"`{version}` in `{text}` is not a version",
                hint=f"see the versions with `prime env versions {owner}/{name}`",
            )
        sha256 = read_sha256(pin) if hashed else None
        return cls(owner, name, None if version in ("", LATEST) else version, sha256, extras)

    @property
    def slug(self) -> str:
        """`owner/name`, without the version."""
        return f"{self.owner}/{self.name}"

    @property
    def wire_version(self) -> str:
        """The version as the hub's routes spell it: `latest` when none is given."""
        return self.version or LATEST

    def at(self, version: str | None) -> "EnvRef":
        """The same environment at another version."""
        return replace(self, version=version)

    def is_same(self, other: "EnvRef") -> bool:
        """Whether both name one environment, whatever their versions."""
        return self.owner == other.owner and normalize_name(self.name) == normalize_name(other.name)

    @property
    def with_extras(self) -> str:
        """As `str`, and with the extras."""
        return add_extras(str(self), self.extras)

    def __str__(self) -> str:
        return f"{self.slug}@{self.version}" if self.version else self.slug


_EXTRAS = re.compile(
    r"(?P<before>(?:.*/)?[^][@#/]+)\[(?P<extras>[^][@#/]*)\](?P<after>(?:[@#].*)?)"
)


def split_extras(text: str) -> tuple[str, tuple[str, ...]]:
    """`owner/name@1.2` and `("nlp",)` of `owner/name[nlp]@1.2`; also of bare names and paths.

    The extras are normalised and sorted. Raises BadReference for what is no name of an extra.
    """
    found = _EXTRAS.fullmatch(text)
    if found is None:
        return text, ()
    names = [name.strip() for name in found["extras"].split(",")]
    for name in names:
        if not _PART.fullmatch(name):
            raise BadReference(
                f"`{name}` in `{text}` is not an extra",
                hint="write extras with commas, as in `owner/name[nlp,vision]@1.2`",
            )
    return found["before"] + found["after"], tuple(sorted({*map(normalize_name, names)}))


def require_short_version(version: str) -> None:
    """Raise UsageError for a version that no reference could name."""
    if len(version) > LONGEST_VERSION:
        raise UsageError(
            f"The version has {len(version)} characters, and {LONGEST_VERSION} are the most: it is "
            "part of file names",
            hint="shorten it in pyproject.toml, such as what stands after `+`",
        )


def add_extras(text: str, extras: Iterable[str]) -> str:
    """The opposite of `split_extras`."""
    names = ",".join(extras)
    if not names:
        return text
    last = text.rfind("/") + 1
    cut = min((at for at in (text.find(mark, last) for mark in "@#") if at >= 0), default=len(text))
    return f"{text[:cut]}[{names}]{text[cut:]}"


def read_sha256(text: str) -> str:
    """A lowercase sha256, as `sha256sum` prints it; raises BadReference."""
    digest = text.strip().lower()
    if not is_sha256(digest):
        raise BadReference(
            f"`{text[:80]}` is not a sha256 of 64 hexadecimal digits",
            hint="`prime env info` shows the sha256 of a wheel",
        )
    return digest


def read_owner(text: str) -> str:
    """The name of a user or team; raises BadReference for an invalid one."""
    if not _PART.fullmatch(text):
        raise BadReference(f"`{text}` is not an owner", hint="an owner is the part before the `/`")
    return text


def is_reference(text: str) -> bool:
    """Whether `text` looks like a hub reference, not a bare name or a path."""
    try:
        EnvRef.parse(text)
    except BadReference:
        return False
    return True


def normalize_name(name: str) -> str:
    """A distribution name as PEP 503 compares it: lower case, runs of `-_.` as one `-`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def module_name(name: str) -> str:
    """The import name of a project, whatever its spelling: `my_env_2` of `My-Env.2`."""
    return normalize_name(name).replace("-", "_")


def is_namesake(module: str, name: str) -> bool:
    """Whether a module is called like the project `name`, as PEP 503 compares names."""
    return normalize_name(module) == normalize_name(name)


def slugify(text: str) -> str:
    """A slug derived from any text: `[a-z0-9-]`, 3 to 30 characters, as on the public hub."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:30].strip("-")
    return slug if len(slug) >= _SHORTEST_SLUG else f"{slug or 'me'}-user"
