"""`prime env upload`, also `prime env push`."""

import os
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.env.upload_options import (
    BumpOptions,
    DestinationOptions,
    SigningOptions,
    UploadCheckOptions,
    read_claim,
)
from prime_cli.commands.options import (
    CONTEXT,
    LONG_OUTPUT,
    OFFLINE,
    QUIET,
    DryRunOpt,
    PathOpt,
    common_options,
    open_session,
)
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import ExitCode
from prime_cli.core.formatting import pluralize
from prime_cli.envs.publish.plan import Destination, Published
from prime_cli.envs.publish.release import Release, VersionBump, next_version, open_release
from prime_cli.envs.publish.upload import UploadOptions, WheelExaminer
from prime_cli.envs.publish.upload import upload as run_upload
from prime_cli.session import Session
from prime_cli.wire.check_reports import CheckSummary

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient
    from prime_cli.wire.publishers import MintedKey


class Runtime(StrEnum):
    """Which API of verifiers an environment is written for."""

    V0 = "v0"
    V1 = "v1"


class UploadFile(msgspec.Struct, frozen=True):
    """A file of the source archive; `size` in bytes."""

    path: str
    size: int


class UploadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What `--dry-run` would publish.

    `version` is null where only a build tells it, `content_hash` where the version will change.
    """

    name: str
    version: str | None
    content_hash: str | None
    total_size: int
    files: list[UploadFile]


class UploadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The published version; the fields of a `Published`, and where and by whom."""

    environment: str
    version: str | None
    visibility: str
    widened: bool
    content_hash: str
    wheel_sha256: str | None
    url: str | None
    already: bool
    locked: bool
    signatures: int
    publisher: str | None
    check: CheckSummary | None


@common_options(
    CONTEXT,
    OFFLINE,
    LONG_OUTPUT,
    QUIET,
    answer=(UploadResult, UploadPlan),
    record=(UploadResult, UploadFile),
    effects=BUILDS,
    exits=ExitCode.GATE,
)
def upload(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[FOLDER|PROJECT|WHEEL]",
            help="A folder, a name in ./environments, or a built wheel.",
        ),
    ] = None,
    path: PathOpt = Path(),
    *,
    destination: DestinationOptions,
    runtime: Annotated[
        Runtime | None,
        typer.Option(
            "--runtime",
            help="The generation of the verifiers API.",
            show_default="detected in its code",
        ),
    ] = None,
    bumps: BumpOptions,
    checks: UploadCheckOptions,
    signing: SigningOptions,
    published_as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            metavar="DATE",
            help="When it was first published elsewhere; its packages are of that time.",
        ),
    ] = None,
    allow_secrets: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-secrets",
            metavar="GLOB",
            help="Allow this file to contain what looks like a secret.",
        ),
    ] = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Build an environment and publish it to the hub.

    Does nothing if the same content is already published. Published versions never change: publish
    the next one with `--auto-bump`. `--check` runs `prime env check` before the upload. In a CI job
    without a key, uploads as a trusted publisher (`prime env publisher`).

    \b
    Example:
      prime env upload my-env --auto-bump
      prime env upload dist/my_env-0.1.0-py3-none-any.whl --visibility PRIVATE
      prime env upload --sign ~/.ssh/id_ed25519
      prime env upload --dry-run
    \b
    See also: `prime env build`, `prime env check`, `prime env versions`.
    """
    session = open_session(ctx)
    checks.validate()
    claim = read_claim(published_as_of, imports=not checks.no_check)
    bump = bumps.bump()
    with open_release(target, path, allowed_secrets=tuple(allow_secrets or ())) as release:
        name = destination.name or release.project.name
        if dry_run:
            _show_files(session, release, bump, name)
            return
        options = UploadOptions(
            destination=_destination(session, destination),
            runtime=runtime,
            bump=bump,
            check=not checks.no_check,
            offline=session.config.offline,
            examine=_examiner(session, checks),
            sign=signing.signers(),
            claim=claim,
        )
        hub, publisher = _hub(session, options.destination, name)
        published = run_upload(hub, release, options, session.progress)
    _report(session, published, publisher)


def _destination(session: Session, given: DestinationOptions) -> Destination:
    """Where the options say, else for the team that `prime switch` or a variable has chosen."""
    context, team = session.config.context, given.team
    if not team and given.owner is None and context.team is not None:
        session.output.say(f"For the team `{context.team}` (from {context.team_source})")
        team = context.team
    return Destination(given.owner, team, given.visibility, given.name)


def _examiner(session: Session, checks: UploadCheckOptions) -> WheelExaminer | None:
    if not checks.wants_report:
        return None
    from prime_cli.commands.env.check import upload_check

    return upload_check(session, required=checks.require_check, holding=checks.require_attack_check)


def _hub(
    session: Session, destination: Destination, name: str
) -> "tuple[HubClient, MintedKey | None]":
    """The hub; in a CI job without a key, as the trusted publisher that the job is."""
    hub = session.hub
    if hub.has_key or session.config.context.embedded or session.config.offline:
        return hub, None
    from prime_cli.client.accounts import ci_jobs

    token = ci_jobs.find_token(hub.base_url, os.environ)
    if token is None:
        if ci_jobs.lacks_permission(os.environ):
            session.output.hint(
                "this job can publish without a key once it has the permission `id-token: write`"
            )
        return hub, None
    minted = ci_jobs.mint_key(hub, token, name, destination.owner or destination.team)
    if minted is None:
        session.output.warn(f"{hub.host} accepts no tokens from CI jobs, so this one has no key")
        return hub, None
    session.output.say(
        f"As the trusted publisher {minted.publisher} of {minted.owner}/{minted.environment}, by "
        f"the token of this job ({token.source}); its key ends at {minted.expires_at[11:16]} UTC"
    )
    return session.hub_at(hub.base_url, minted.key), minted


def _show_files(session: Session, release: Release, bump: VersionBump | None, name: str) -> None:
    project = release.project
    version = project.version if bump is None else next_version(release, bump)
    files = [UploadFile(file.path, file.size) for file in release.files]
    total = sum(file.size for file in release.files)
    page = UploadPlan(
        name=name,
        version=version,
        # The version is part of the content, so the next one's hash is not known yet.
        content_hash=release.content_hash if bump is None else None,
        total_size=total,
        files=files,
    )
    rows = [[file.path, str(file.size)] for file in release.files]
    session.output.table(["File", "Bytes"], rows, records=files, page=page)
    named = f"{name} {version or 'with a dynamic version'}"
    size = f"{pluralize(len(files), 'file')}, {pluralize(total, 'byte')}"
    session.output.say(f"{named}: {size}, nothing was built or sent")
    if bump is None:
        session.output.say(f"content hash {release.content_hash}")


def _report(session: Session, published: Published, publisher: "MintedKey | None") -> None:
    remember("environments", [published.ref.slug])
    web = session.config.context.web_url
    url = f"{web}/dashboard/environments/{published.ref.slug}" if web else None
    record = UploadResult(
        environment=published.ref.slug,
        version=published.ref.version,
        visibility=published.visibility,
        widened=published.widened,
        content_hash=published.content_hash,
        wheel_sha256=published.wheel_sha256,
        url=url,
        already=published.already,
        locked=published.locked,
        signatures=published.signed,
        publisher=None if publisher is None else publisher.publisher,
        check=published.checked,
    )
    if published.already:
        sentence = f"{published.ref} is already published, with the same content"
    else:
        sentence = f"Published {published.ref} ({published.visibility.lower()})"
    if published.signed:
        sentence += f", and signed ({published.signed})"
    session.output.done(sentence, value=record)
    if published.widened:
        session.output.say(f"{published.ref.slug} is now public" + (f": {url}" if url else ""))
    elif url:
        session.output.say(url)
    session.output.hint(f"install it with `prime env install {published.ref.slug}`")
