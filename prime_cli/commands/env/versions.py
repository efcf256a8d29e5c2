"""`prime env versions | delete | yank | unyank`, also as `prime env version list | delete`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES_OR_FORCE, EnvironmentArg, hub_options, open_session
from prime_cli.core.completion_cache import forget, remember
from prime_cli.core.errors import UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.envs.hub_environments import (
    Deletion,
    ListedVersion,
    list_versions,
    plan_deletion,
    run_deletion,
)
from prime_cli.envs.names import resolve_name
from prime_cli.session import Session

_COLUMNS = ("Version", "Created", "Content hash", "Wheel sha256", "Files", "Yanked")

_SHOWN_HASH = 12


class EnvironmentVersions(msgspec.Struct, frozen=True):
    """All versions of an environment, newest first."""

    environment: str
    versions: tuple[ListedVersion, ...]
    total: int


@hub_options(answer=EnvironmentVersions, record=ListedVersion)
def versions(
    ctx: typer.Context,
    environment: EnvironmentArg,
    full_hashes: Annotated[bool, typer.Option("--full-hashes", help="Print hashes whole.")] = False,
) -> None:
    """List the versions of an environment.

    Newest first. The content hash identifies a version's sources; the sha256 is its wheel's, as
    for `--sha256`.

    \b
    Example:
      prime env versions starter/alphabet-sort
    \b
    See also: `prime env info`, `prime env delete`.
    """
    session = open_session(ctx)
    ref = resolve_name(session.hub, environment, progress=session.progress).at(None)
    found = list_versions(session.hub.of(ref.owner), ref)
    remember("environments", [ref.slug])
    shown = None if full_hashes else _SHOWN_HASH
    rows = [
        [
            each.version,
            each.created_at,
            each.sha256[:shown],
            (each.wheel_sha256 or "-")[:shown],
            str(each.artifacts),
            "" if each.yanked is None else each.yanked or "yes",
        ]
        for each in found
    ]
    page = EnvironmentVersions(ref.slug, found, len(found))
    session.output.table(_COLUMNS, rows, records=found, page=page)


class DeletedVersions(msgspec.Struct, frozen=True):
    """What was deleted of an environment."""

    environment: str
    deleted: tuple[str, ...]


@hub_options(YES_OR_FORCE, answer=DeletedVersions, effects=WRITES)
def delete(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="What to delete.")
    ],
) -> None:
    """Delete an environment or one version of it.

    Without a version, deletes all versions. Installed and downloaded copies stay.

    \b
    Example:
      prime env delete ada/wordle@0.1.0
      prime env delete ada/wordle --yes
    \b
    See also: `prime env versions`.
    """
    session = open_session(ctx)
    _confirm_and_delete(session, EnvRef.parse(environment))


def _confirm_and_delete(session: Session, ref: EnvRef) -> None:
    """Ask whether what `ref` names is to go, and delete it."""
    hub = session.hub.of(ref.owner)
    plan = plan_deletion(hub, ref)
    session.output.confirm(f"Delete {_deletion_text(plan)}?", otherwise="Nothing was deleted")
    run_deletion(hub, plan)
    if plan.content_hash is None:
        forget("environments", [plan.ref.slug])
    value = DeletedVersions(plan.ref.slug, plan.versions)
    session.output.done(f"Deleted {_deletion_text(plan)}", value=value)


def _deletion_text(plan: Deletion) -> str:
    if plan.content_hash is not None:
        return str(plan.ref)
    count = len(plan.versions)
    return f"{plan.ref.slug} with {'its only version' if count == 1 else f'all {count} versions'}"


VersionArg = Annotated[
    str, typer.Argument(metavar="OWNER/NAME@VERSION", help="A version of an environment.")
]


class YankState(msgspec.Struct, frozen=True):
    """A version; `yanked` is the reason, which may be empty, or null if it is not yanked."""

    environment: str
    semantic_version: str
    yanked: str | None


@hub_options(answer=YankState, effects=WRITES)
def yank(
    ctx: typer.Context,
    version: VersionArg,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why, shown to everybody.")
    ] = "",
) -> None:
    """Yank a version, so that it is no longer chosen.

    `env install` and installers skip it unless somebody names exactly this version. It is not
    deleted: locked workspaces stay as they are.

    \b
    Example:
      prime env yank ada/wordle@0.3.0 --reason "wrong rewards"
    \b
    See also: `prime env unyank`, `prime env delete`.
    """
    session = open_session(ctx)
    ref = _version_of(version)
    reply = session.hub.of(ref.owner).environments.yank(ref, reason)
    value = YankState(ref.slug, reply.semantic_version, reply.yanked)
    session.output.done(f"Yanked {ref}", value=value)


@hub_options(answer=YankState, effects=WRITES)
def unyank(ctx: typer.Context, version: VersionArg) -> None:
    """Undo the yank of a version.

    \b
    Example:
      prime env unyank ada/wordle@0.3.0
    \b
    See also: `prime env yank`, `prime env versions`.
    """
    session = open_session(ctx)
    ref = _version_of(version)
    reply = session.hub.of(ref.owner).environments.unyank(ref)
    value = YankState(ref.slug, reply.semantic_version, reply.yanked)
    session.output.done(f"{ref} is no longer yanked", value=value)


def _version_of(text: str) -> EnvRef:
    """The version that was named; raises UsageError where none is."""
    ref = EnvRef.parse(text)
    if ref.version is None:
        raise UsageError(
            "Name one version, as in `owner/name@1.2`",
            hint=f"see them with `prime env versions {ref.slug}`",
        )
    return ref


app = group(
    "List the versions of an environment, or delete one.",
    {
        "list": (
            "prime_cli.commands.env.versions:versions",
            "List the versions of an environment.",
        ),
        "delete": (
            "prime_cli.commands.env.versions:delete_by_hash",
            "Delete a version by its content hash.",
        ),
    },
)


@hub_options(YES_OR_FORCE, answer=DeletedVersions, effects=WRITES)
def delete_by_hash(
    ctx: typer.Context,
    environment: EnvironmentArg,
    content_hash: Annotated[
        str,
        typer.Argument(
            metavar="HASH", help="Its content hash, or at least its first 8 characters."
        ),
    ],
) -> None:
    """Delete a version by its content hash.

    \b
    Example:
      prime env version delete ada/wordle 5f2c91ab
    \b
    See also: `prime env delete`, `prime env versions`.
    """
    session = open_session(ctx)
    _confirm_and_delete(session, EnvRef.parse(environment).at(content_hash))
