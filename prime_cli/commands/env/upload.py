"""`prime env upload`, also `prime env push`."""

import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

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
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.envs.publish.plan import Destination, Published
from prime_cli.envs.publish.release import Release, VersionBump, next_version, open_release
from prime_cli.envs.publish.upload import UploadOptions, WheelExaminer
from prime_cli.envs.publish.upload import upload as run_upload
from prime_cli.envs.signatures.sign import Signer, attestation_signer, signer_of
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient
    from prime_cli.wire.publishers import MintedKey


class VisibilityChoice(StrEnum):
    """Who sees an environment."""

    PUBLIC = "PUBLIC"
    PRIVATE = "PRIVATE"


class Runtime(StrEnum):
    """Which API of verifiers an environment is written for."""

    V0 = "v0"
    V1 = "v1"


@common_options(CONTEXT, OFFLINE, LONG_OUTPUT, QUIET)
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
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", help="Its name on the hub.", show_default="the project's"),
    ] = None,
    visibility: Annotated[
        VisibilityChoice | None,
        typer.Option(
            "--visibility",
            "-v",
            case_sensitive=False,
            help="Who sees it.",
            show_default="unchanged; the hub's default for a new one",
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", "-o", help="Publish for this user or team.")
    ] = None,
    team: Annotated[
        str | None,
        typer.Option(
            "--team",
            "-t",
            help="Publish for this team (slug or id).",
            show_default="that of `prime switch`",
        ),
    ] = None,
    runtime: Annotated[
        Runtime | None,
        typer.Option(
            "--runtime",
            help="The generation of the verifiers API.",
            show_default="detected in its code",
        ),
    ] = None,
    auto_bump: Annotated[
        bool, typer.Option("--auto-bump", help="First raise the patch version in pyproject.toml.")
    ] = False,
    rc: Annotated[
        bool, typer.Option("--rc", help="First raise the version to the next release candidate.")
    ] = False,
    post: Annotated[
        bool, typer.Option("--post", help="First raise the version to the next post-release.")
    ] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not import the wheel in a clean interpreter.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check it first, and publish the report with it.")
    ] = False,
    require_check: Annotated[
        bool,
        typer.Option("--require-check", help="As `--check`, but publish only if no check fails."),
    ] = False,
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="KEY", help="Sign with this SSH key, or with `sigstore`."),
    ] = None,
    attestation: Annotated[
        list[Path] | None,
        typer.Option(
            "--attestation", metavar="FILE", help="Also publish this attestation (PEP 740)."
        ),
    ] = None,
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
    if no_check and (check or require_check):
        raise UsageError("`--no-check` excludes `--check` and `--require-check`")
    claim = published_as_of and published_as_of.replace(tzinfo=UTC)
    if claim is not None and (no_check or claim > datetime.now(UTC)):
        reason = "needs the import that `--no-check` omits" if no_check else "is in the future"
        raise UsageError(f"`--published-as-of {claim:%Y-%m-%d}` {reason}")
    bump = _choose_bump({VersionBump.PATCH: auto_bump, VersionBump.RC: rc, VersionBump.POST: post})
    with open_release(target, path, allowed_secrets=tuple(allow_secrets or ())) as release:
        if dry_run:
            _show_files(session, release, bump, name or release.project.name)
            return
        options = UploadOptions(
            destination=Destination(owner, team or _chosen_team(session, owner), visibility, name),
            runtime=runtime,
            bump=bump,
            check=not no_check,
            offline=session.config.offline,
            examine=_check(session, required=require_check) if check or require_check else None,
            sign=_signers(sign, attestation or []),
            claim=claim,
        )
        hub, publisher = _hub(session, options.destination, name or release.project.name)
        published = run_upload(hub, release, options, session.progress)
    _report(session, published, publisher)


def _hub(
    session: Session, destination: Destination, name: str
) -> "tuple[HubClient, MintedKey | None]":
    """The hub; in a CI job without a key, as the trusted publisher that the job is."""
    hub = session.hub
    if hub.has_key or session.config.context.embedded or session.config.offline:
        return hub, None
    from prime_cli.accounts import ci_jobs

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


def _check(session: Session, *, required: bool) -> WheelExaminer:
    from prime_cli.commands.env.check import upload_check

    return upload_check(session, required=required)


def _chosen_team(session: Session, owner: str | None) -> str | None:
    """The team that `prime switch` or a variable has chosen, where no flag says otherwise."""
    context = session.config.context
    if owner is not None or context.team is None:
        return None
    session.output.say(f"For the team `{context.team}` (from {context.team_source})")
    return context.team


def _signers(key: str | None, attestations: list[Path]) -> tuple[Signer, ...]:
    return (*([signer_of(key)] if key else []), *map(attestation_signer, attestations))


def _choose_bump(flags: dict[VersionBump, bool]) -> VersionBump | None:
    chosen = [bump for bump, given in flags.items() if given]
    if len(chosen) > 1:
        raise UsageError("Use only one of `--auto-bump`, `--rc` and `--post`")
    return chosen[0] if chosen else None


def _show_files(session: Session, release: Release, bump: VersionBump | None, name: str) -> None:
    project = release.project
    version = project.version if bump is None else next_version(release, bump)
    files = [{"path": file.path, "size": file.size} for file in release.files]
    total = sum(file.size for file in release.files)
    page = {
        "name": name,
        "version": version,
        # The version is part of the content, so the next one's hash is not known yet.
        "content_hash": release.content_hash if bump is None else None,
        "total_size": total,
        "files": files,
    }
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
    record = {
        "environment": published.ref.slug,
        "version": published.ref.version,
        "visibility": published.visibility,
        "content_hash": published.content_hash,
        "wheel_sha256": published.wheel_sha256,
        "url": url,
        "already": published.already,
        "locked": published.locked,
        "signatures": published.signed,
        "publisher": None if publisher is None else publisher.publisher,
        "check": None if published.checked is None else msgspec.to_builtins(published.checked),
    }
    if published.already:
        sentence = f"{published.ref} is already published, with the same content"
    else:
        sentence = f"Published {published.ref} ({published.visibility.lower()})"
    if published.signed:
        sentence += f", and signed ({published.signed})"
    session.output.done(sentence, value=record)
    if url:
        session.output.say(url)
    session.output.hint(f"install it with `prime env install {published.ref.slug}`")
