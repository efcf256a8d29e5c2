"""`prime env publisher …`."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option
from prime_cli.session import Session
from prime_cli.wire.publishers import (
    GITHUB,
    GITLAB,
    PUBLISHERS_FEATURE,
    NewPublisher,
    Publisher,
    PublisherList,
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


@dataclass(frozen=True)
class PublisherOptions:
    """Which jobs to trust: those whose tokens have one issuer, and make all of these claims."""

    github: Annotated[str | None, Option("A repository on GitHub.", metavar="OWNER/REPO")] = None
    workflow: Annotated[
        str | None,
        Option("Only this workflow, such as publish.yml.", metavar="FILE", panel=_GITHUB),
    ] = None
    deployment: Annotated[
        str | None,
        Option("Only jobs with this deployment environment.", metavar="NAME", panel=_GITHUB),
    ] = None
    gitlab: Annotated[str | None, Option("A project on GitLab.", metavar="GROUP/PROJECT")] = None
    ref_type: Annotated[
        str | None,
        Option("Only branches, or only tags.", metavar="branch|tag", panel=_GITLAB),
    ] = None
    ref: Annotated[
        str | None,
        Option(
            "Only this ref: refs/tags/v* (GitHub), main (GitLab); * is any text.", metavar="REF"
        ),
    ] = None
    issuer: Annotated[
        str | None,
        Option("Who signs the tokens.", metavar="URL", show_default="github.com or gitlab.com"),
    ] = None
    claims: Annotated[
        tuple[str, ...],
        Option(
            "What else a token must say; * is any text. May be repeated.",
            names=("--claim",),
            metavar="NAME=VALUE",
        ),
    ] = ()


@hub_options(answer=Publisher, effects=WRITES)
def add(
    ctx: typer.Context,
    *,
    environment: Annotated[
        str,
        typer.Argument(
            metavar="OWNER/NAME", help="The environment, which may be new, or OWNER/* for all."
        ),
    ],
    options: PublisherOptions,
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
    issuer, claims = _issuer_and_claims(options)
    _require_publishers(session)
    made = session.hub.publishers.add(NewPublisher(owner, name, issuer, claims))
    slug = f"{made.owner}/{made.environment}"
    session.output.done(f"Jobs with {_words(made)} may publish {slug}", value=made)
    session.output.hint(
        f"a job needs `prime env upload --owner {made.owner}` and no key; on GitHub the permission "
        f"`id-token: write`, on GitLab an `id_tokens` PRIME_ID_TOKEN with "
        f"`aud: {session.hub.base_url}`"
    )


@hub_options(answer=PublisherList, record=Publisher)
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
    session.output.table(columns, rows, records=found, page=PublisherList(found))


class RemovedPublisher(msgspec.Struct, frozen=True):
    """The publisher that is no longer trusted."""

    id: str


@hub_options(answer=RemovedPublisher, effects=WRITES)
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
    session.output.done(f"Removed {publisher}", value=RemovedPublisher(publisher))


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


def _issuer_and_claims(options: PublisherOptions) -> tuple[str, dict[str, str]]:
    """Who signs the tokens, and what they must say; raises UsageError."""
    more = dict(map(_read_claim, options.claims))
    if options.github is not None and options.gitlab is not None:
        raise UsageError("Use only one of `--github` and `--gitlab`")
    of_github = {"--workflow": options.workflow, "--deployment": options.deployment}
    _require_provider("--github", options.github, of_github)
    _require_provider("--gitlab", options.gitlab, {"--ref-type": options.ref_type})
    issuer, claims = "", dict[str, str]()
    if options.github is not None:
        issuer, claims = GITHUB, _github_claims(options.github, options)
    elif options.gitlab is not None:
        issuer, claims = GITLAB, _gitlab_claims(options.gitlab, options)
    elif options.issuer is None or not more:
        raise UsageError(
            "The jobs to trust are missing",
            hint="use `--github OWNER/REPO`, `--gitlab GROUP/PROJECT`, or `--issuer URL` with "
            "`--claim NAME=VALUE`",
        )
    if options.ref is not None:
        claims["ref"] = options.ref
    return options.issuer or issuer, claims | more


def _require_provider(provider: str, project: str | None, options: dict[str, str | None]) -> None:
    """Raise UsageError for one of the `options` of a provider that is not used."""
    given = [option for option, value in options.items() if value is not None]
    if project is None and given:
        raise UsageError(f"`{given[0]}` needs `{provider}`")


def _github_claims(repository: str, options: PublisherOptions) -> dict[str, str]:
    claims = {"repository": repository}
    if options.workflow is not None:
        file = options.workflow.rpartition("/")[2]
        # The text before the pattern's `*` is all of the path: a branch may have any name.
        claims["workflow_ref"] = f"{repository}/.github/workflows/{file}@*"
    if options.deployment is not None:
        claims["environment"] = options.deployment
    return claims


def _gitlab_claims(project: str, options: PublisherOptions) -> dict[str, str]:
    claims = {"project_path": project}
    if options.ref_type is not None:
        claims["ref_type"] = options.ref_type
    return claims


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
