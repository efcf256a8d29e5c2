"""What pages of environments show beyond what the API answers.

Wheels are read; none of their code is run.
"""

import re
import zipfile
from collections.abc import Callable
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from sqlalchemy import Connection, select

from prime_cli.core.archive.arguments import read_arguments
from prime_cli.core.archive.diff.compare import Difference, DiffLimits, compare_snapshots
from prime_cli.core.archive.diff.snapshots import Snapshot, wheel_tree
from prime_cli.core.archive.limits import MEBIBYTE, ArchiveLimits
from prime_cli.core.archive.members import archive_errors
from prime_cli.core.archive.outside import outside_references
from prime_cli.core.archive.source_analysis import find_generation
from prime_cli.core.archive.wheels import Wheel
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, reports
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.evaluations.standings import find_best
from prime_cli.hub.services.versions import find_version
from prime_cli.pages.details import SourceFacts
from prime_cli.pages.environments import CataloguePage, EnvironmentCard
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import EnvironmentQuery

_LARGEST_SOURCE = 48 * 1024
"""Bytes of Python in one wheel that are parsed for a page."""
_MOST_TOKENS = 10_000
"""Of the same: each takes some 15 us, whatever a publisher writes."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_FILES = 1_000
_LARGEST_CONTENT = 4 * MEBIBYTE
_LARGEST_METADATA = 256 * 1024
_MOST_REQUIREMENTS = 300
_LARGEST_FILE = 64 * 1024
_LIMITS = DiffLimits(lines=800, compared=2_000)
_KEPT = 128
_LARGEST_FACTS = 96 * 1024
"""Bytes of Python that are parsed for a page; what is beyond is left to `prime env info`."""
_KEPT_FACTS = 512

OpenBlob = Callable[[str], BinaryIO]


class _StoredWheel(NamedTuple):
    """A version's wheel, which never changes."""

    label: str
    filename: str
    sha256: str


def compare_versions(
    hub: Hub, caller: Caller, ref: EnvRef, before: str, after: str
) -> Difference | None:
    """What differs from one version to another; None if they are too much to be compared here.

    Raises NotFound, TakenDown.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        rows = [find_version(connection, environment, each) for each in (before, after)]
    one, other = (
        _StoredWheel(f"{ref.slug}@{row.semantic_version}", row.wheel_filename, row.wheel_sha256)
        for row in rows
    )
    return _compare(hub.storage.open, one, other, hub.settings.limits.archive)


@lru_cache(maxsize=_KEPT)
def _compare(
    open_blob: OpenBlob, one: _StoredWheel, other: _StoredWheel, limits: ArchiveLimits
) -> Difference | None:
    a, b = (_read(open_blob, each, limits) for each in (one, other))
    return compare_snapshots(a, b, limits=_LIMITS) if a and b else None


def _read(open_blob: OpenBlob, stored: _StoredWheel, limits: ArchiveLimits) -> Snapshot | None:
    """The wheel as one side; None if it is too large."""
    with open_blob(stored.sha256) as file:
        with archive_errors(stored.filename), zipfile.ZipFile(file) as archive:
            wheel = Wheel(archive, limits)
            if not _is_small(wheel):
                return None
            facts = wheel.facts(stored.filename)
        if len(facts.requires_dist) > _MOST_REQUIREMENTS:
            return None
        file.seek(0)
        files = wheel_tree(file, largest=_LARGEST_FILE, limits=limits)
    return Snapshot.of_wheel(stored.label, facts, files, stored.sha256)


def _is_small(wheel: Wheel) -> bool:
    sizes = {path: info.file_size for path, info in wheel.members.items()}
    source = sum(size for path, size in sizes.items() if path.endswith(".py"))
    metadata = sum(size for path, size in sizes.items() if ".dist-info/" in path)
    if (
        len(sizes) > _MOST_FILES
        or source > _LARGEST_SOURCE
        or metadata > _LARGEST_METADATA
        or sum(sizes.values()) > _LARGEST_CONTENT
    ):
        return False
    texts = (text for _, text in wheel.modules(largest=_LARGEST_SOURCE))
    return sum(len(_TOKEN.findall(text)) for text in texts) <= _MOST_TOKENS


def read_source(hub: Hub, caller: Caller, ref: EnvRef) -> SourceFacts | None:
    """The facts of a version; None if its source is too much to be read here. Raises NotFound."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
    limits = hub.settings.limits.archive
    return _read_facts(hub.storage.open, version.wheel_sha256, environment.name, limits)


@lru_cache(maxsize=_KEPT_FACTS)
def _read_facts(
    open_blob: Callable[[str], BinaryIO], digest: str, name: str, limits: ArchiveLimits
) -> SourceFacts | None:
    """The same of a wheel, which never changes."""
    with open_blob(digest) as file, archive_errors(), zipfile.ZipFile(file) as archive:
        wheel = Wheel(archive, limits)
        sizes = [info.file_size for path, info in wheel.members.items() if path.endswith(".py")]
        if sum(sizes) > _LARGEST_FACTS:
            return None
        module = wheel.environment_module(name)
        generation = find_generation(module, wheel.source)
        found = read_arguments(module, generation, wheel.source) if generation else None
        outside = outside_references(text for _, text in wheel.modules(largest=_LARGEST_FACTS))
    return SourceFacts(generation, found, outside.variables, outside.hosts)


def list_cards(hub: Hub, caller: Caller, query: EnvironmentQuery) -> CataloguePage:
    """One page of visible environments. Raises as `list_environments`."""
    found = list_environments(hub, caller, query)
    with hub.database.read() as connection:
        ids = [item.id for item in found.data]
        checks, best = _checks(connection, ids), find_best(connection, caller, ids)
    cards = [EnvironmentCard(item, checks.get(item.id), best.get(item.id)) for item in found.data]
    return CataloguePage(cards, found.total_count, found.next_cursor)


def _checks(connection: Connection, ids: list[str]) -> dict[str, CheckSummary]:
    """What the check of each newest version found, if it has one."""
    rows = connection.execute(
        select(environments.c.id, reports.c.summary)
        .join(reports, reports.c.version_id == environments.c.latest_version_id)
        .where(environments.c.id.in_(ids))
    )
    return {row.id: decode(row.summary.encode(), CheckSummary) for row in rows}
