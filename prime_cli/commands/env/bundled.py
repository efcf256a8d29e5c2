"""A bundle on the command line of `prime env install`."""

import os
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.envs.bundles.admission import admit_bundle
from prime_cli.envs.bundles.kept import Bundled
from prime_cli.envs.bundles.reading import is_bundle
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


def admit(file: Path, session: Session) -> tuple[Bundled, ...]:
    """Check a bundle and put its parts where they are found offline; says where its data is."""
    admitted = admit_bundle(file, session.config.home.value, os.environ, session.progress)
    for data, place in admitted.data:
        session.output.say(f"Its data {data.name} is in {place}")
    return admitted.environments
