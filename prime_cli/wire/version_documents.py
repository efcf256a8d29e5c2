"""Documents that our hubs keep beside a version, one of each kind, at `…/@{version}/{path}`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from prime_cli.wire.check_reports import CheckReport, CheckSummary, summarize
from prime_cli.wire.locks import LONGEST_SIGNATURE, MOST_SIGNATURES, Lock, Signatures

D = TypeVar("D", Lock, CheckReport, Signatures)


def _itself(document: Any) -> Any:
    return document


@dataclass(frozen=True)
class DocumentKind(Generic[D]):
    """A kind of document: what it is called, its type, and how large it may be.

    `feature` is the name under which hubs announce that they keep it. Who stores one is answered
    with `reply` of it, a `reply_type`.
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
"""What was resolved for the version's wheel."""

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
"""What its publisher's check found."""

SIGNATURES = DocumentKind(
    "signatures",
    title="signatures",
    document_type=Signatures,
    reply_type=Signatures,
    feature="signatures",
    most_bytes=MOST_SIGNATURES * LONGEST_SIGNATURE + 4096,
)
"""Signatures of its wheel; to store none removes them."""

DOCUMENT_KINDS: tuple[DocumentKind[Any], ...] = (LOCK, CHECK_REPORT, SIGNATURES)
