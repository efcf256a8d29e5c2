"""Publish the starter environments on the embedded hub, as any environment is published."""

import shutil
import tempfile
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.archive.sources import list_sources
from prime_cli.archive.wheels import read_wheel
from prime_cli.core.config import STARTER_OWNER
from prime_cli.core.errors import Conflict
from prime_cli.core.progress import Progress
from prime_cli.envs.build import build_wheel
from prime_cli.envs.project import load_project
from prime_cli.envs.publish import Destination, plan_publish, publish
from prime_cli.envs.release import Release
from prime_cli.envs.starters import mark_published, starter_folders


def publish_starters(hub: HubClient, hub_data: Path, progress: Progress) -> None:
    """Build each starter and publish it under `starter`; doing it twice changes nothing.

    `hub` must act for that owner. Works offline: the build backend is at hand. Raises what
    building and publishing raise.
    """
    with (
        tempfile.TemporaryDirectory(prefix="prime-starters-") as scratch,
        progress.task("Preparing the starter environments", unit="items"),
    ):
        for folder in starter_folders():
            # The installed sources may be read-only, and a build writes beside them.
            copy = Path(scratch) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
            _publish_starter(hub, copy, progress)
    mark_published(hub_data)


def _publish_starter(hub: HubClient, folder: Path, progress: Progress) -> None:
    project = load_project(folder)
    release = Release(project, list_sources(folder))
    wheel = build_wheel(project, folder / "dist", progress, offline=True)
    destination = Destination(owner=STARTER_OWNER, visibility="PUBLIC")
    try:
        publish(hub, plan_publish(wheel, read_wheel(wheel), release, destination), progress)
    except Conflict as error:
        progress.warn(error.message, hint="give the changed starter a new version")
