"""The tab of what is known of a version of an environment beyond its text."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, structs

from prime_cli.core.archive.arguments import LoadArgument
from prime_cli.core.formatting import pluralize
from prime_cli.pages.environment import EnvironmentHead, head_of
from prime_cli.pages.paging import Room, Window, parse_cursor
from prime_cli.pages.templates import Page
from prime_cli.pages.texts import shorten
from prime_cli.wire.check_reports import (
    Attack,
    AttackReport,
    Check,
    CheckReport,
    SourceFinding,
    in_words,
    summarize,
)
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.locks import Lock, LockedPackage, Signatures

T = TypeVar("T")


class SourceFacts(Struct, frozen=True):
    """What the source says: `arguments` None where they cannot be read.

    `variables` and `hosts` are what it reads and names, which may be more than it uses.
    """

    generation: str | None
    arguments: tuple[LoadArgument, ...] | None
    variables: tuple[str, ...]
    hosts: tuple[str, ...]


class CheckFindings(Struct, frozen=True):
    """The result of the publisher's check in short."""

    words: str
    date: str


class LockFacts(Struct, frozen=True):
    """What a lock says in a sentence, and the packages in it."""

    sentence: str
    packages: Window[LockedPackage]


class DetailsRecord(Struct, frozen=True, kw_only=True):
    """What is known of a version beyond its text; None for what it was published without.

    `source` is None too if it is too large to be read for a page. Of each list some rows are shown,
    as far as there is room.
    """

    head: EnvironmentHead
    source: SourceFacts | None
    arguments: Window[LoadArgument]
    variables: Window[str]
    hosts: Window[str]
    python: str
    requirements: Window[str]
    lock: LockFacts | None
    check: CheckFindings | None
    checks: Window[Check]
    attack: AttackReport | None
    attacks: Window[Attack]
    sources: Window[SourceFinding]
    signatures: Signatures | None


_PART = Room(rows=200, row_bytes=100, bytes=14_000)
_LONGEST_VALUE = 300
_LONGEST_WORD = 100


def details_page(
    detail: EnvironmentDetail,
    source: SourceFacts | None,
    lock: Lock | None,
    report: CheckReport | None,
    signatures: Signatures | None,
    query: Mapping[str, str] = MappingProxyType({}),
) -> Page:
    """Arguments, variables, requirements, lock, check report and signatures.

    `query` has the cursor of each list.
    """
    head = head_of(detail, "details")
    path = next(tab.path for tab in head.tabs if tab.name == "details")

    checks = report.checks if report else ()
    attack = report.attack if report else None

    def some(name: str, rows: Sequence[T]) -> Window[T]:
        return _PART.window(rows, parse_cursor(query, name), path, name)

    stated = detail.metadata
    record = DetailsRecord(
        head=head,
        source=source,
        arguments=some("arguments", [_short(each) for each in (source and source.arguments) or ()]),
        variables=some("variables", source.variables if source else ()),
        hosts=some("hosts", source.hosts if source else ()),
        python=shorten(stated.python_requires, _LONGEST_WORD),
        requirements=some("requirements", _shortened(stated.requires_dist or stated.dependencies)),
        lock=LockFacts(_sentence(lock), some("packages", _packages(lock))) if lock else None,
        check=CheckFindings(in_words(summarize(report)), report.date) if report else None,
        checks=some("checks", [each for each in checks if each.status != "pass"]),
        attack=attack and structs.replace(attack, attacks=(), sources=()),
        attacks=some("attacks", attack.attacks if attack else ()),
        sources=some("sources", attack.sources if attack else ()),
        signatures=signatures,
    )
    commands = (f"prime env info {head.slug}@{head.version}", f"prime env verify {head.slug}")
    return Page("details.html", f"Details of {head.slug}", record, command=commands)


def _short(argument: LoadArgument) -> LoadArgument:
    annotation, default = (
        None if text is None else shorten(text, _LONGEST_VALUE)
        for text in (argument.annotation, argument.default)
    )
    return LoadArgument(argument.name, annotation, default)


def _shortened(texts: Sequence[str]) -> list[str]:
    return [shorten(text, _LONGEST_VALUE) for text in texts]


def _sentence(lock: Lock) -> str:
    python, verifiers, generation = (
        shorten(text, _LONGEST_WORD) for text in (lock.python, lock.verifiers, lock.generation)
    )
    count = pluralize(len(lock.packages), "package")
    return f"{count} for Python {python} with verifiers {verifiers} ({generation})."


def _packages(lock: Lock) -> list[LockedPackage]:
    """What the page shows of them, in one of the fields `version` and `source`."""
    return [
        LockedPackage(
            shorten(each.name, _LONGEST_WORD),
            shorten(each.version or each.source or "", _LONGEST_VALUE),
            marker=shorten(each.marker or "", _LONGEST_VALUE),
        )
        for each in lock.packages
    ]
