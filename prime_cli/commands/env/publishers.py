"""`prime env publisher …`."""

from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.session import Session
from prime_cli.wire.publishers import (
    GITHUB,
    GITLAB,
    PUBLISHERS_FEATURE,
    NewPublisher,
    Publisher,
)

_HERE = "prime_cli.commands.env.publishers"

app = group(
    "Trust CI jobs to publish without a key.",
    {
        "add": (f"{_HERE}:add", "Trust the jobs of a repository to publish an environment."),
        "list": (f"{_HERE}:list_", "List trusted publishers."),
        "remove": (f"{_HERE}:remove", "Stop trusting a publisher."),
    },
    aliases={"ls": "list", "rm": "remove", "delete": "remove"},
)

_GITHUB, _GITLAB = "GitHub Actions", "GitLab CI"


@hub_options()
def add(
    ctx: typer.Context,
    *,
    environment: Annotated[
        str,
        typer.Argument(
            metavar="OWNER/NAME", help="The environment, which may be new, or OWNER/* for all."
        ),
    ],
    github: Annotated[
        str | None,
        typer.Option("--github", metavar="OWNER/REPO", help="A repository on GitHub."),
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option(
            "--workflow",
            metavar="FILE",
            rich_help_panel=_GITHUB,
            help="Only this workflow, such as publish.yml.",
        ),
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(
            "--deployment",
            metavar="NAME",
            rich_help_panel=_GITHUB,
            help="Only jobs with this deployment environment.",
        ),
    ] = None,
    gitlab: Annotated[
        str | None,
        typer.Option("--gitlab", metavar="GROUP/PROJECT", help="A project on GitLab."),
    ] = None,
    ref_type: Annotated[
        str | None,
        typer.Option(
            "--ref-type",
            metavar="branch|tag",
            rich_help_panel=_GITLAB,
            help="Only branches, or only tags.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(
            "--ref",
            metavar="REF",
            help="Only this ref: refs/tags/v* (GitHub), main (GitLab); * is any text.",
        ),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(
            "--issuer",
            metavar="URL",
            help="Who signs the tokens.",
            show_default="github.com or gitlab.com",
        ),
    ] = None,
    claims: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="NAME=VALUE",
            help="What else a token must say; * is any text. May be repeated.",
        ),
    ] = None,
) -> None:
    """Trust the jobs of a repository to publish an environment.

    Such a job needs no key: `prime env upload` exchanges the token that its provider signs for a
    key of 15 minutes, which publishes this environment and nothing else. Needs a key with the scope
    `admin`, of the owner or of an admin of the team.

    \b
    Example:
      prime env publisher add lab/words --github lab/words --workflow publish.yml
      prime env publisher add lab/words --gitlab lab/words --ref-type tag
      prime env publisher add 'lab/*' --github lab/envs --deployment release
    \b
    See also: `prime env upload`, `prime env publisher list`.
    """
    session = open_session(ctx)
    owner, name = _split(environment)
    wanted = {"workflow": workflow, "deployment": deployment, "ref_type": ref_type, "ref": ref}
    said = {key: value for key, value in wanted.items() if value is not None}
    new = NewPublisher(owner, name, *_claims(github, gitlab, issuer, said, claims or []))
    _require_publishers(session)
    made = session.hub.publishers.add(new)
    slug = f"{made.owner}/{made.environment}"
    session.output.done(f"Jobs with {_words(made)} may publish {slug}", value=made)
    session.output.hint(
        f"a job needs `prime env upload --owner {made.owner}` and no key; on GitHub the permission "
        f"`id-token: write`, on GitLab an `id_tokens` PRIME_ID_TOKEN with "
        f"`aud: {session.hub.base_url}`"
    )


@hub_options()
def list_(
    ctx: typer.Context,
    environment: Annotated[
        str | None, typer.Argument(metavar="[OWNER/NAME|OWNER]", help="Only of this one.")
    ] = None,
) -> None:
    """List trusted publishers.

    Shows those of the user and of the teams that the key manages.

    \b
    Example:
      prime env publisher list
      prime env publisher list lab/words --output json
    \b
    See also: `prime env publisher add`, `prime env publisher remove`.
    """
    session = open_session(ctx)
    _require_publishers(session)
    owner, _, name = (environment or "").partition("/")
    found = session.hub.publishers.list(owner or None, name or None)
    rows = [
        [each.id, f"{each.owner}/{each.environment}", _words(each), each.last_used_at or "never"]
        for each in found
    ]
    columns = ("Id", "Publishes", "Jobs with", "Last used")
    session.output.table(columns, rows, records=found, page={"publishers": found})


@hub_options()
def remove(
    ctx: typer.Context,
    publisher: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
) -> None:
    """Stop trusting a publisher.

    Keys that its jobs have got end within 15 minutes.

    \b
    Example:
      prime env publisher remove pub_0f1e2d3c4b5a6978
    \b
    See also: `prime env publisher list`, `prime env publisher add`.
    """
    session = open_session(ctx)
    _require_publishers(session)
    session.hub.publishers.remove(publisher)
    session.output.done(f"Removed {publisher}", value={"id": publisher})


def _require_publishers(session: Session) -> None:
    """Raise UsageError on a hub that accepts no tokens from CI jobs."""
    if PUBLISHERS_FEATURE not in session.hub.capabilities().features:
        raise UsageError(
            f"{session.hub.host} has no trusted publishers",
            hint="choose a hub with `--context`; its admin turns them on with "
            "`--publisher-issuers`",
        )


def _split(environment: str) -> tuple[str, str]:
    owner, slash, name = environment.partition("/")
    if not (owner and slash and name):
        raise UsageError(
            f"`{environment}` names no environment", hint="write OWNER/NAME, or 'OWNER/*' for all"
        )
    return owner, name


def _claims(
    github: str | None,
    gitlab: str | None,
    issuer: str | None,
    said: dict[str, str],
    more: list[str],
) -> tuple[str, dict[str, str]]:
    """The issuer and the claims of its tokens; raises UsageError."""
    given = dict(_read_claim(each) for each in more)
    if github is not None and gitlab is not None:
        raise UsageError("Use only one of `--github` and `--gitlab`")
    if github is not None:
        _refuse(said, "ref_type", "--gitlab")
        claims = {"repository": github}
        if "workflow" in said:
            file = said["workflow"].rpartition("/")[2]
            # The text before the pattern's `*` is all of the path: a branch may have any name.
            claims["workflow_ref"] = f"{github}/.github/workflows/{file}@*"
        if "deployment" in said:
            claims["environment"] = said["deployment"]
        return issuer or GITHUB, {**claims, **_ref(said), **given}
    _refuse(said, "workflow", "--github")
    _refuse(said, "deployment", "--github")
    if gitlab is not None:
        claims = {"project_path": gitlab}
        if "ref_type" in said:
            claims["ref_type"] = said["ref_type"]
        return issuer or GITLAB, {**claims, **_ref(said), **given}
    _refuse(said, "ref_type", "--gitlab")
    if issuer is None or not given:
        raise UsageError(
            "The jobs to trust are missing",
            hint="use `--github OWNER/REPO`, `--gitlab GROUP/PROJECT`, or `--issuer URL` with "
            "`--claim NAME=VALUE`",
        )
    return issuer, {**_ref(said), **given}


def _ref(said: dict[str, str]) -> dict[str, str]:
    return {"ref": said["ref"]} if "ref" in said else {}


def _refuse(said: dict[str, str], name: str, option: str) -> None:
    if name in said:
        raise UsageError(f"`--{name.replace('_', '-')}` needs `{option}`")


def _read_claim(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"`--claim {text}` is not NAME=VALUE")
    return name, value


def _words(publisher: Publisher) -> str:
    """As `repository lab/words, ref refs/tags/v*`; with the issuer unless the claims tell it."""
    claims = ", ".join(f"{name} {value}" for name, value in publisher.claims.items())
    known = publisher.issuer in (GITHUB, GITLAB)
    return claims if known else f"{claims} (of {publisher.issuer})"
