"""The files of a published version on the wire, as `prime env inspect` shows them."""

from typing import Annotated

import msgspec

from prime_cli.wire.queries import Param

DEFAULT_INSPECT_BYTES = 100_000
MOST_INSPECT_BYTES = 500_000


class InspectQuery(msgspec.Struct, frozen=True):
    """What to show of a source archive."""

    path: Annotated[str, Param("Path of a file or folder in the source archive")] = ""
    max_bytes: Annotated[
        int,
        Param(
            "Maximum number of bytes of file content to return", least=1, most=MOST_INSPECT_BYTES
        ),
    ] = DEFAULT_INSPECT_BYTES


class InspectEntry(msgspec.Struct, omit_defaults=True):
    """One member of a source archive's directory listing."""

    name: str
    path: str
    is_directory: bool
    size: int | None = None
    modified_at: str | None = None
    content_hash: str | None = None


class Inspection(msgspec.Struct, omit_defaults=True):
    """`…/inspect`: a directory's entries, or a file's content (`truncated` past max_bytes)."""

    kind: str
    path: str
    version_id: str
    entries: list[InspectEntry] | None = None
    content: str | None = None
    truncated: bool | None = None
    total_bytes: int | None = None
