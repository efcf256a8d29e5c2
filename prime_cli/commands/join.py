"""`prime join`, also `prime teams join`."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from prime_cli.commands.context import HttpOpt
from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.login import LoggedIn, StorageOpt
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.credentials import KeyStorage
from prime_cli.core.errors import Conflict, NotAllowed, NotLoggedIn, UsageError
from prime_cli.session import Session
from prime_cli.wire.invitations import INVITE_FEATURE, Acceptance, Invitation

if TYPE_CHECKING:
    from prime_cli.client.accounts.contexts import LoginTarget
    from prime_cli.wire.accounts import Account
    from prime_cli.wire.invitations import Accepted


class JoinedTeam(msgspec.Struct, frozen=True):
    """The team that a user of the hub is in now."""

    context: str
    hub: str
    owner: str
    joined: str | None
    role: str | None


@hub_options(answer=(LoggedIn, JoinedTeam), effects=(NETWORK, WRITES))
def join(
    ctx: typer.Context,
    invitation: Annotated[
        str | None,
        typer.Argument(
            metavar="[INVITATION]", help="Its link, in quotes.", show_default="ask, or read stdin"
        ),
    ] = None,
    *,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Your user name, if you are new to the hub."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The hub's name here.", show_default="its host"
        ),
    ] = None,
    storage: StorageOpt = None,
    allow_http: HttpOpt = False,
) -> None:
    """Accept an invitation to a hub or a team.

    If you are new to the hub, creates your account and logs you in. If you are logged in there
    already, adds you to the team.

    \b
    Example:
      prime join 'https://hub.example.org/join#prime_inv_...'
      prime join --user ada < invitation.txt
    \b
    See also: `prime login`, `prime whoami`, `prime switch`.
    """
    from prime_cli.client.accounts.contexts import key_for, match_context, read_link

    session = open_session(ctx)
    link = read_link(session.output.read_secret("Invitation") if invitation is None else invitation)
    target = match_context(session.config, link.hub, name=name, web_url=None, allow_http=allow_http)
    key = key_for(session.config, target)
    hub = session.hub_at(target.base_url, key)
    if INVITE_FEATURE not in hub.capabilities().features:
        raise UsageError(f"{hub.host} has no invitations", hint="log in with `prime login`")
    shown = hub.invitations.show(link.token)
    account = _account(session, target, key)
    if account is None:
        given = Acceptance(link.token, user or shown.user)
        _sign_up(session, target, shown, given, storage)
    elif user not in (None, account.slug):
        raise UsageError(
            f"You are logged in to {target.base_url} as {account.slug}",
            hint=f"omit `--user`, or log out first: `prime logout {target.name}`",
        )
    else:
        _report_joined(session, target, hub.invitations.accept(Acceptance(link.token)))


def _account(session: Session, target: "LoginTarget", key: str | None) -> "Account | None":
    """The user of the key that is kept for the hub; None without a valid one."""
    if key is None:
        return None
    try:
        return session.hub_at(target.base_url, key).accounts.whoami()
    except NotLoggedIn:
        return None


def _sign_up(
    session: Session,
    target: "LoginTarget",
    shown: Invitation,
    given: Acceptance,
    storage: KeyStorage | None,
) -> None:
    from prime_cli.client.accounts.contexts import likely_name
    from prime_cli.client.accounts.login import log_in, require_storage
    from prime_cli.commands.login import report

    own = f"if you have an account, log in first: `prime login --hub {target.base_url}`"
    if not shown.sign_up:
        raise NotAllowed(
            f"This invitation is for people who have an account on {target.base_url}",
            hint=f"{own}, then run this again",
        )
    session.output.say(f"{_inviter(shown)} invites you to {_places(shown, target)}")
    if given.user is None:
        given.user = session.output.enter(
            "Your new user name there?", default=likely_name(), flag="--user"
        )
    require_storage(session.config)
    try:
        accepted = session.hub_at(target.base_url).invitations.accept(given)
    except Conflict as error:
        raise Conflict(error.message, hint=f"choose another with `--user`; {own}") from error
    key = accepted.key or ""
    done = log_in(
        session.config,
        target,
        session.hub_at(target.base_url, key),
        key,
        storage or KeyStorage(session.config.storage.value),
        is_new=True,
    )
    report(session, done, joined=accepted.team, role=accepted.role)
    if accepted.team:
        session.output.say(f"You are in the team `{accepted.team}`")
    session.output.hint(
        "this key is your only way in; keep another one in a safe place: "
        "`prime keys create --name spare --scope admin`"
    )


def _inviter(shown: Invitation) -> str:
    return "The hub's operator" if shown.by == "cli" else f"`{shown.by}`"


def _places(shown: Invitation, target: "LoginTarget") -> str:
    to = f"{target.base_url}, as an admin of the hub" if shown.admin else target.base_url
    if shown.team is None:
        return to
    return f"{to}, and to its team `{shown.team}` as {shown.role}"


def _report_joined(session: Session, target: "LoginTarget", accepted: "Accepted") -> None:
    record = JoinedTeam(target.name, target.base_url, accepted.user, accepted.team, accepted.role)
    told = f"You are now in the team `{accepted.team}` of {target.base_url}, as {accepted.role}"
    session.output.done(told, value=record)
    session.output.hint(f"work for it with `prime switch {accepted.team}`")
