"""Validation of uploads before they are stored or published.

A declaration is refused with UsageError before any byte is sent; bytes that are not what was
declared, with IntegrityError or UnsafeContent.
"""

import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, NamedTuple

from packaging.utils import InvalidWheelFilename, canonicalize_version, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from prime_cli.core.archive.limits import ArchiveLimits, check_zip_sizes
from prime_cli.core.archive.members import archive_errors, inspect_archive
from prime_cli.core.archive.source_analysis import EnvironmentKind, find_generation, find_kinds
from prime_cli.core.archive.wheels import Wheel
from prime_cli.core.digests import is_sha256
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.refs import normalize_name, require_short_version
from prime_cli.wire.check_reports import SCHEMA, CheckReport, verdict_of
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import ArtifactRequest
from prime_cli.wire.locks import Signature, Signatures

_CONTENT_HASH = re.compile(r"[0-9A-Za-z_-]{8,128}")
_PLAIN_FILENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+!-]{0,254}")
_LONGEST_WHEEL = 240
"""Most disks allow 255, and beside a wheel the index has `*.whl.metadata`."""


class CheckedMetadata(NamedTuple):
    """METADATA of a wheel that has passed: its bytes, and its field Requires-Python or "".

    `kinds` are those of its environment, as far as its source says.
    """

    body: bytes
    requires_python: str
    kinds: tuple[EnvironmentKind, ...] = ()


def check_digests(request: ArtifactRequest) -> None:
    """A SHA-256 in lower-case hex, and a content hash that can stand in a path.

    The content hash is the client's own: two official algorithms are in use, so it is kept
    unchanged and never recomputed.
    """
    if not is_sha256(request.sha256):
        raise UsageError(f"`{request.sha256[:80]}` is not a SHA-256 in lower-case hex")
    if not _CONTENT_HASH.fullmatch(request.content_hash):
        raise UsageError(f"`{request.content_hash[:80]}` cannot be a content hash")


def check_filename(request: ArtifactRequest) -> None:
    """A plain file name: no folder, no control characters."""
    if not _PLAIN_FILENAME.fullmatch(request.filename):
        raise UsageError(f"`{request.filename[:80]}` is not a plain file name")


def check_version_form(request: ArtifactRequest) -> None:
    """A version that PEP 440 allows, since installers compare it, and that is not too long."""
    require_short_version(request.semantic_version)
    try:
        Version(request.semantic_version)
    except InvalidVersion as error:
        raise UsageError(
            f"`{request.semantic_version[:80]}` is not a valid PEP 440 version",
            hint="write the version like `0.1.0`, `0.1.0rc1` or `0.1.0.post1`",
        ) from error


def check_size(size: int, allowed: int) -> None:
    """No more bytes than the hub accepts."""
    if size > allowed:
        raise IntegrityError(f"{size} bytes exceed this hub's limit of {allowed}")


def check_received(
    *, sha256: str, declared_sha256: str, size: int, declared_size: int | None
) -> None:
    """The received bytes are those declared."""
    if declared_size is not None and size != declared_size:
        raise IntegrityError(f"{size} bytes were received, but {declared_size} were declared")
    if sha256 != declared_sha256:
        raise IntegrityError(
            f"The bytes have the SHA-256 {sha256}, but {declared_sha256} was declared",
            hint="rebuild and upload again",
        )


def check_wheel_filename(filename: str, name: str, version: str) -> None:
    """The wheel's file name matches the environment's name and version, and is not too long."""
    if len(filename) > _LONGEST_WHEEL:
        raise UsageError(
            f"The wheel's file name has {len(filename)} characters, and {_LONGEST_WHEEL} are the "
            "most",
            hint="shorten the name or the version in pyproject.toml",
        )
    try:
        wheel_name, wheel_version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise UsageError(f"`{filename[:80]}` is not a wheel file name") from error
    if wheel_name != normalize_name(name):
        raise UsageError(
            f"The wheel is named `{wheel_name}`, but the environment `{name}`",
            hint="publish it under the name in pyproject.toml",
        )
    if canonicalize_version(str(wheel_version)) != canonicalize_version(version):
        raise UsageError(f"The wheel has version {wheel_version}, but {version} was declared")


def check_wheel_content(
    file: BinaryIO, name: str, version: str, *, limits: ArchiveLimits
) -> CheckedMetadata:
    """The wheel can be read, is safe to unpack, and its METADATA matches its file name.

    Installers that trust the sizes in it and those that do not unpack the same.
    """
    with archive_errors(), zipfile.ZipFile(file) as archive:
        wheel = Wheel(archive, limits)
        check_zip_sizes(archive, wheel.members.values())
        metadata = wheel.metadata()
        body = wheel.metadata_bytes()
        kinds = _read_kinds(wheel, name)
    if normalize_name(metadata["name"]) != normalize_name(name):
        raise IntegrityError(f"METADATA in the wheel names `{metadata['name']}`, not `{name}`")
    if canonicalize_version(metadata["version"]) != canonicalize_version(version):
        raise IntegrityError(
            f"METADATA in the wheel has version {metadata['version']}, not {version}"
        )
    return CheckedMetadata(body, metadata.get("requires_python", ""), kinds)


_LARGEST_MODULE = 96 * 1024
_LARGEST_SOURCE = 1024 * 1024
"""Bytes of Python that are parsed for the kinds, a file at a time."""


def _read_kinds(wheel: Wheel, name: str) -> tuple[EnvironmentKind, ...]:
    """Nothing for source that is too large to be read while its publisher waits."""
    sizes = [info.file_size for path, info in wheel.members.items() if path.endswith(".py")]
    if sum(sizes) > _LARGEST_SOURCE or max(sizes, default=0) > _LARGEST_MODULE:
        return ()
    generation = find_generation(wheel.environment_module(name), wheel.source)
    return find_kinds(generation, wheel.modules(largest=_LARGEST_MODULE))


def check_sources_content(file: BinaryIO, *, limits: ArchiveLimits) -> None:
    """The source archive is readable, is safe to unpack, and has a pyproject.toml."""
    paths = {member.path for member in inspect_archive(file, limits=limits)}
    if "pyproject.toml" not in paths:
        raise IntegrityError("The source archive has no pyproject.toml")


# --- Check reports ---


def check_report(report: CheckReport) -> None:
    """Raise UsageError for a report that contradicts itself."""
    if report.schema != SCHEMA:
        raise UsageError(f"The report has schema {report.schema}, and this hub knows {SCHEMA}")
    if len({check.id for check in report.checks}) < len(report.checks):
        raise UsageError("The report contains the same check twice")
    if report.verdict != verdict_of(report.checks):
        raise UsageError(f"The report's verdict `{report.verdict}` does not match its checks")
    if not all(text.isprintable() for text in _texts(report)):
        raise UsageError("The report contains control characters")
    try:
        datetime.fromisoformat(report.date)
    except ValueError as error:
        raise UsageError("The report's date is not ISO 8601") from error


def _texts(report: CheckReport) -> Iterator[str]:
    yield from (report.environment, report.prime, report.python or "", report.verifiers or "")
    for check in report.checks:
        yield check.sentence
        yield check.step or ""
    if report.attack is not None:
        yield report.attack.reason
        for attack in report.attack.attacks:
            yield from (attack.sentence, attack.rule or "", attack.file or "", attack.answer or "")
        for source in report.attack.sources:
            yield from (source.sentence, source.file)


# --- Signatures ---

_SSH = ("-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n")


def check_signatures(given: Signatures) -> None:
    """Raise UsageError for an invalid signature of its kind."""
    for each in given.signatures:
        _check_signature(each)


def _check_signature(signature: Signature) -> None:
    body = signature.body
    if signature.kind == "ssh":
        begin, end = _SSH
        if not (body.isascii() and body.startswith(begin) and body.endswith(end)):
            raise UsageError("A signature of kind `ssh` must be the output of `ssh-keygen -Y sign`")
    elif not isinstance(decode(body.encode(), object), dict):
        raise UsageError("A signature of kind `pep740` must be the JSON of an attestation")
