"""Documents of a version on our hubs, one of each kind, at `…/@{version}/{path}`."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from prime_cli.wire.check_reports import CheckReport, CheckSummary, summarize
from prime_cli.wire.locks import LONGEST_SIGNATURE, MOST_SIGNATURES, Lock, Signatures

D = TypeVar("D", Lock, CheckReport, Signatures)


def _itself(document: Any) -> Any:
    return document


class DocumentKind(Struct, Generic[D], frozen=True):
    """A kind of document: its name, type and maximum size.

    `feature` is the name by which hubs announce it. The answer to storing one is `reply`, a
    `reply_type`.
    """

    path: str
    title: str
    document_type: type[D]
    reply_type: type
    feature: str
    most_bytes: int
    reply: Callable[[D], Any] = _itself


LOCK = DocumentKind(
    "lock",
    title="lock",
    document_type=Lock,
    reply_type=Lock,
    feature="locks",
    most_bytes=16 * 1024 * 1024,
)
"""The lock of the version's wheel."""

CHECK_REPORT = DocumentKind(
    "check",
    title="check report",
    document_type=CheckReport,
    reply_type=CheckSummary,
    feature="checks",
    # A report of some twenty checks has about 4 KB.
    most_bytes=64 * 1024,
    reply=summarize,
)
"""The report of its publisher's check."""

SIGNATURES = DocumentKind(
    "signatures",
    title="signatures",
    document_type=Signatures,
    reply_type=Signatures,
    feature="signatures",
    most_bytes=MOST_SIGNATURES * LONGEST_SIGNATURE + 4096,
)
"""Signatures of its wheel; storing none removes them."""

DOCUMENT_KINDS: tuple[DocumentKind[Any], ...] = (LOCK, CHECK_REPORT, SIGNATURES)
