"""From sources to a published version: bump, build, check, publish, and note where it went."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.archive.wheels import WheelFacts
from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.build import DIST, build_checked, look_at
from prime_cli.envs.names import own_namespace
from prime_cli.envs.project import Project
from prime_cli.envs.provenance import is_pending, record_push
from prime_cli.envs.publish import (
    Destination,
    Published,
    attach_report,
    find_content,
    find_published,
    plan_publish,
    publish,
)
from prime_cli.envs.release import Bump, Release, write_next_version
from prime_cli.envs.secrets import refuse_secrets_in_wheel
from prime_cli.envs.signing.attach import Sign, attach_signatures, require_keeping
from prime_cli.wire.check_reports import CheckReport, summarize

Examine = Callable[[Path, Project], CheckReport]
"""Checks a wheel of a project; what it raises keeps the wheel from being published."""


@dataclass(frozen=True)
class UploadOptions:
    """How to publish; with `check` the wheel is first imported in a clean interpreter.

    `runtime` (v0 or v1) is told to the hub in place of what the wheel exposes. The report of
    `examine` is kept beside the version, also of one that was published before; so are the
    signatures that `sign` makes of its wheel.
    """

    destination: Destination
    bump: Bump | None = None
    check: bool = True
    offline: bool = False
    runtime: str | None = None
    examine: Examine | None = None
    sign: tuple[Sign, ...] = ()


def upload(
    hub: HubClient, release: Release, options: UploadOptions, progress: Progress
) -> Published:
    """Publish `release`; what is on the hub already is neither built nor sent again.

    Stopped at any point, the same call finishes the job. Raises what building, checking and
    publishing raise.
    """
    _check_name(release.project, options.destination)
    if options.sign:
        require_keeping(hub)
    if options.bump is not None:
        release = _with_next_version(hub, release, options.bump, options.destination, progress)
    published = _find_published(hub, release, options.destination)
    if published is None or options.examine is not None or options.sign:
        wheel, facts = _obtain_wheel(release, options, progress)
        report = options.examine(wheel, release.project) if options.examine else None
        if published is None:
            refuse_secrets_in_wheel(wheel, release.files, allowed=release.allowed_secrets)
            plan = plan_publish(wheel, facts, release, options.destination, runtime=options.runtime)
            published = publish(hub, plan, progress)
        if report is not None and attach_report(hub, published, report, progress):
            published = replace(published, checked=summarize(report))
        if options.sign:
            digest = release.content_hash
            signed = attach_signatures(hub, published.ref, wheel, digest, options.sign)
            published = replace(published, signed=signed)
    if release.built is None:
        root = release.project.root
        record_push(root, published.ref, published.environment_id, published.wheel_sha256)
    return published


def _check_name(project: Project, destination: Destination) -> None:
    """Refuse what the hub would, before anything is made there or built."""
    name = destination.name
    if name is not None and normalize_name(name) != normalize_name(project.name):
        raise UsageError(
            f"`{project.name}` cannot be published as `{name}`: installers know a wheel by its own "
            "name",
            hint="change `name` in pyproject.toml",
        )


def _with_next_version(
    hub: HubClient, release: Release, bump: Bump, destination: Destination, progress: Progress
) -> Release:
    """The release under its next version, unless an upload that was stopped gave it one before."""
    old = release.project.version
    if old is not None and is_pending(release.project.root, old):
        ref = _known_ref(hub, release.project, destination)
        if ref is None or find_content(hub, ref) in (None, release.content_hash):
            progress.say(f"Going on with {old}, the version that an earlier upload began")
            return release
    bumped = write_next_version(release, bump)
    progress.say(f"{bumped.project.name} {old} becomes {bumped.project.version}")
    return bumped


def _find_published(hub: HubClient, release: Release, destination: Destination) -> Published | None:
    ref = _known_ref(hub, release.project, destination)
    return None if ref is None else find_published(hub, ref, release.content_hash, destination)


def _obtain_wheel(
    release: Release, options: UploadOptions, progress: Progress
) -> tuple[Path, WheelFacts]:
    check, offline = options.check, options.offline
    if release.built is None:
        dist = release.project.root / DIST
        return build_checked(release.project, dist, progress, check=check, offline=offline)
    wheel, facts = release.built
    look_at(wheel, facts, progress, project=release.project, check=check, offline=offline)
    return wheel, facts


def _known_ref(hub: HubClient, project: Project, destination: Destination) -> EnvRef | None:
    """The version this will be, where its owner can be told before the hub is asked to make it."""
    owner = destination.owner or destination.team_slug
    if owner is None and destination.team is None:
        owner = own_namespace(hub)
    if owner is None or project.version is None:
        return None
    return EnvRef(owner, destination.name or project.name, project.version)
