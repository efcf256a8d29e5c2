"""Install from a bundle: find it among the arguments, check it, and unpack it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.core.progress import Progress
from prime_cli.envs.bundles.archive import is_bundle
from prime_cli.envs.bundles.unpacked import UnpackedEnvironment, unpack_bundle
from prime_cli.envs.fetch import fetch_unpacked
from prime_cli.envs.trust import TrustPolicy


def find_bundle(words: Sequence[str], here: Path) -> Path | None:
    """The bundle among `words`, None if there is none; raises UsageError for one among others."""
    if not any(is_bundle(here / word) for word in words):
        return None
    if len(words) > 1:
        raise UsageError(
            "A bundle is installed by itself, from its own wheels alone",
            hint="run `prime env install` once for each of them",
        )
    return here / words[0]


def require_sha256(file: Path, sha256: str) -> None:
    """Raise IntegrityError unless `file` has the pinned sha256."""
    with storage_errors(file):
        found = digest_file(file)
    if found != sha256:
        raise IntegrityError(
            f"{file} has sha256 {found}, and {sha256} is pinned",
            hint="copy the file again, or ask who made it",
        )


def unpack_for_install(
    file: Path, home: Path, environ: Mapping[str, str], progress: Progress, trust: TrustPolicy
) -> tuple[UnpackedEnvironment, ...]:
    """Unpack a bundle where its parts are found offline; says what it holds and where its data is.

    Raises NotTrusted where `trust` requires signatures that it does not have.
    """
    unpacked = unpack_bundle(
        file, home, environ, progress, check=lambda bundled: fetch_unpacked(bundled, trust)
    )
    refs = ", ".join(str(each.ref) for each in unpacked.environments)
    progress.say(f"{file.name} brings {refs}; they are found here by these names from now on")
    for data, place in unpacked.data:
        progress.say(f"Its data {data.name} is in {place}")
    return unpacked.environments
