"""Environments on the wire, in the shapes of the official client (releases 0.3 to 0.18)."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from prime_cli.core.archive.source_analysis import EnvironmentKind
from prime_cli.core.options import Option
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.queries import Param, SortOrder

# What is our own addition says so. Fields that the official client can do without have a default
# here too: a reader must not fail over what it does not need.


class Owner(msgspec.Struct):
    """A user or team; `name` is the slug."""

    name: str
    type: str = "user"


# --- The list ---


class Visibility(StrEnum):
    """Who can see an environment."""

    PUBLIC = "public"
    PRIVATE = "private"


class SortKey(StrEnum):
    """What a listing is sorted by."""

    NAME = "name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    STARS = "stars"
    DOWNLOADS = "downloads"
    EVALUATIONS = "evaluations"


_COUNTS = (SortKey.DOWNLOADS, SortKey.EVALUATIONS)


DEEPEST_OFFSET = 100_000
"""The largest offset; a database counts through all rows before it."""


class EnvironmentQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which environments to list, and in which order.

    Several tags, or several words to search for, must all match; a word matches the beginning of
    words in name, owner, description and tags. A page starts at an `offset`, or at the `cursor`
    from the previous page.
    """

    owner: Annotated[
        str | None,
        Option("Only this user's or team's."),
        Param("Only environments of this user or team"),
    ] = None
    visibility: Annotated[
        Visibility | None,
        Option("Only these.", case_sensitive=False),
        Param("Only `PUBLIC` or only `PRIVATE` environments", any_case=True),
    ] = None
    search: Annotated[
        str | None,
        Option("Search in names and descriptions.", names=("--search", "-s")),
        Param("Prefixes of words in name, owner, description or tags"),
    ] = None
    tags: Annotated[
        tuple[str, ...],
        Option("Only with this tag; repeatable.", names=("--tag", "-t", "--tags")),
        Param("Only with this tag; repeat to require several"),
    ] = ()
    kind: Annotated[
        EnvironmentKind | None,
        Option("Only of this kind.", case_sensitive=False),
        Param(
            "Only of this kind, as its code or its tags say",
            feature="environment_kinds",
            any_case=True,
        ),
    ] = None
    sort_by: Annotated[
        SortKey,
        Option("Sort by.", names=("--sort",)),
        Param("Sort key", value_features=dict.fromkeys(_COUNTS, "environment_counts")),
    ] = SortKey.CREATED_AT
    sort_order: Annotated[
        SortOrder, Option("Sort order.", names=("--order",)), Param("Sort order")
    ] = SortOrder.DESC
    mine_only: Annotated[
        bool,
        Option("Only what you published.", names=("--mine",)),
        Param("Only environments of the caller and the caller's teams"),
    ] = False
    starred_only: Annotated[
        bool,
        Option("Only those that you have starred.", names=("--starred",)),
        Param("Only environments that the caller has starred"),
    ] = False
    min_stars: Annotated[
        int,
        Option("With this many stars or more.", metavar="N", least=0, show_default=False),
        Param("Only environments with this many stars or more", feature="min_stars"),
    ] = 0
    limit: Annotated[int, Param("Maximum number of items", least=1, most=1000)] = 20
    offset: Annotated[
        int,
        Param(
            "Number of items to skip",
            most=DEEPEST_OFFSET,
            hint="use `cursor` to page further, or narrow the list",
        ),
    ] = 0
    cursor: Annotated[
        str | None, Param("`next_cursor` of the previous page; replaces `offset`")
    ] = None


class EnvironmentItem(msgspec.Struct):
    """One row of `GET /environmentshub/`.

    `downloads`, `evaluations` (finished, that the caller sees) and `kinds` are ours.
    """

    id: str
    name: str
    owner: Owner
    description: str = ""
    visibility: str = "PUBLIC"
    latest_version: str | None = None
    stars: int = 0
    updated_at: str = ""
    tags: list[str] = []
    created_at: str = ""
    downloads: int | None = None
    evaluations: int | None = None
    kinds: list[str] = []


class EnvironmentPage(msgspec.Struct):
    """`GET /environmentshub/`: rows of one page, and how many there are in all.

    `next_cursor` is ours: the `cursor` of the next page, None at the end.
    """

    data: list[EnvironmentItem]
    total_count: int = 0
    next_cursor: str | None = None


class EnvironmentMetadata(msgspec.Struct, omit_defaults=True):
    """What a publisher states about a wheel or version, from pyproject.toml and METADATA."""

    description: str = ""
    tags: list[str] = []
    license: Any = ""
    dependencies: list[str] = []
    python_requires: str = ">=3.8"
    original_filename: str = ""
    requires_dist: list[str] = []
    fork_chain: list[Any] = []
    origin: Any = None


class VersionSummary(msgspec.Struct):
    """The newest version, in `status` and in the detail."""

    semantic_version: str
    content_hash: str = ""
    created_at: str = ""


class EnvironmentDetail(msgspec.Struct, omit_defaults=True):
    """`GET /environmentshub/{owner}/{name}/@{version}`.

    `wheel_sha256`, `wheel_filename`, `wheel_size`, `has_lock`, `runtime_hint`, `check_summary` (of
    the publisher's check), `signatures` (their number), `downloads` (of all versions), `yanked`
    (why installers skip the version; may be empty), `kinds` and `wheel_download_url` are ours: the
    public hub does not send them, so readers treat them as optional. The last is the address of the
    wheel for clients with a key; `wheel_url` is for installers, which send no key, and null if they
    have no access. `evaluations` is known on pages alone: the answer itself is cached.
    """

    id: str
    name: str
    owner: Owner
    visibility: str = "PUBLIC"
    version_id: str | None = None
    semantic_version: str | None = None
    content_hash: str | None = None
    sha256: str | None = None
    metadata: EnvironmentMetadata = msgspec.field(default_factory=EnvironmentMetadata)
    latest_version: VersionSummary | str | None = None
    simple_index_url: str | None = None
    install_index_url: str | None = None
    wheel_url: str | None = None
    package_url: str | None = None
    tracked_package_url: str | None = None
    url_dependencies: list[str] | None = None
    stars: int = 0
    created_at: str | None = None
    updated_at: str | None = None
    wheel_sha256: str | None = None
    wheel_filename: str | None = None
    wheel_size: int | None = None
    has_lock: bool = False
    check_summary: CheckSummary | None = None
    signatures: int = 0
    wheel_download_url: str | None = None
    runtime_hint: str | None = None
    yanked: str | None = None
    downloads: int | None = None
    kinds: list[str] = []
    evaluations: int | None = None
    # Only release 0.3.9 of the official client asks for it, and only whether it is there.
    download_object_key: str | None = None


class EnvironmentStatus(msgspec.Struct):
    """`GET /environmentshub/{owner}/{name}/status`."""

    name: str
    description: str = ""
    visibility: str = "PUBLIC"
    latest_version: VersionSummary | None = None


class VersionItem(msgspec.Struct):
    """One row of `…/versions`; `sha256` is the content hash, `size` the number of artefacts.

    `yanked` and `wheel_sha256` are ours, as in the detail.
    """

    version: str
    created_at: str = ""
    sha256: str = ""
    size: int = 0
    yanked: str | None = None
    wheel_sha256: str | None = None


class UpstreamWheel(msgspec.Struct, frozen=True):
    """A wheel that the index of an upstream lists; `sha256` in hex, `yanked` the reason or None."""

    filename: str
    sha256: str
    requires_python: str = ""
    yanked: str | None = None


class VersionList(msgspec.Struct):
    """`…/versions`, newest first."""

    versions: list[VersionItem]


class ResolveRequest(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /environmentshub/resolve`: get or create."""

    name: str
    visibility: str | None = None
    owner_slug: str | None = None
    team_slug: str | None = None
    team_id: str | None = None


class ResolveReply(msgspec.Struct):
    """The environment that was found or created."""

    id: str
    name: str
    owner: Owner
    visibility: str = "PUBLIC"
    created: bool = False


class LookupRequest(msgspec.Struct, omit_defaults=True):
    """`POST /environmentshub/lookup`: by id, or by name and the slug of any owner."""

    id: str | None = None
    name: str | None = None
    team_slug: str | None = None


class LookupReply(msgspec.Struct):
    """The environment that was found."""

    id: str
    name: str
    owner: Owner


class ArtifactRequest(msgspec.Struct, omit_defaults=True):
    """`POST …/wheels` and `POST …/versions`; only wheels carry `size` on the official wire."""

    content_hash: str
    filename: str
    sha256: str
    semantic_version: str
    metadata: EnvironmentMetadata = msgspec.field(default_factory=EnvironmentMetadata)
    size: int | None = None
    runtime_hint: str | None = None


class WheelTicket(msgspec.Struct):
    """Where to PUT a wheel; `upload_url` is None if the hub already has these bytes."""

    wheel_id: str
    upload_url: str | None = None


class VersionTicket(msgspec.Struct):
    """Where to PUT a source archive."""

    version_id: str
    upload_url: str | None = None


class FinalizeReply(msgspec.Struct):
    """Whether a finalize step took effect, and why not."""

    success: bool
    message: str | None = None


# --- Forks ---


class ForkRequest(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /environmentshub/{owner}/{name}/fork`: to the caller or to a team."""

    team_slug: str | None = None
    team_id: str | None = None


class ForkReply(msgspec.Struct):
    """The fork; `slug` is its `owner/name`."""

    success: bool
    message: str | None
    environment_id: str
    version_id: str
    name: str
    owner: str
    slug: str


# --- Yanking ---


class YankRequest(msgspec.Struct, omit_defaults=True):
    """`POST …/@{version}/yank`: why installers should skip the version."""

    reason: str = ""


class YankReply(msgspec.Struct):
    """The new state; `yanked` is the reason, which may be empty, or null if it is not yanked."""

    semantic_version: str
    yanked: str | None = None
