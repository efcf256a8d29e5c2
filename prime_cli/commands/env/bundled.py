"""A bundle on the command line of `prime env install`."""

import os
from pathlib import Path

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.envs.bundles.admission import admit_bundle
from prime_cli.envs.bundles.kept import Bundled
from prime_cli.envs.bundles.reading import is_bundle
from prime_cli.envs.fetch import from_bundle
from prime_cli.envs.trust.gate import Gate
from prime_cli.session import Session


def find_bundle(words: list[str], here: Path) -> Path | None:
    """The bundle that is named, None where none is; raises UsageError for one among others."""
    if not any(is_bundle(here / word) for word in words):
        return None
    if len(words) > 1:
        raise UsageError(
            "A bundle is installed by itself, from its own wheels alone",
            hint="run `prime env install` once for each of them",
        )
    return here / words[0]


def check_bundle(file: Path, sha256: str) -> None:
    """Raise IntegrityError for another file than the one that is pinned."""
    with storage_errors(file):
        found = digest_file(file)
    if found != sha256:
        raise IntegrityError(
            f"{file} has sha256 {found}, and {sha256} is pinned",
            hint="copy the file again, or ask whoever made it",
        )


def admit(file: Path, session: Session, gate: Gate) -> tuple[Bundled, ...]:
    """Check a bundle and put its parts where they are found offline; says what and where.

    Raises NotTrusted where `gate` requires signatures that it does not have.
    """
    admitted = admit_bundle(
        file,
        session.config.home.value,
        os.environ,
        session.progress,
        check=lambda bundled: from_bundle(bundled, gate),
    )
    refs = ", ".join(str(each.ref) for each in admitted.environments)
    session.output.say(f"{file.name} brings {refs}; they are found here by these names from now on")
    for data, place in admitted.data:
        session.output.say(f"Its data {data.name} is in {place}")
    return admitted.environments
