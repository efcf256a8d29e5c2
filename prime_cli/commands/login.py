"""`prime login`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.commands.overruled import warn_overruled
from prime_cli.core.credentials import Storage
from prime_cli.core.errors import PrimeError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.accounts.approval import Approval
    from prime_cli.accounts.login import LoggedIn
    from prime_cli.accounts.targets import Target
    from prime_cli.api.client import HubClient

HttpOpt = Annotated[
    bool,
    typer.Option("--allow-http", help="Let keys travel unencrypted, in a network you trust."),
]


def login(
    ctx: typer.Context,
    hub: Annotated[
        str | None,
        typer.Option(
            "--hub",
            metavar="URL",
            help="The hub's address.",
            show_default="the current hub; the public one if that is local",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What to call it.", show_default="its host"),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Open no browser, only show the address.")
    ] = False,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read a key from stdin, and open no page.")
    ] = False,
    storage: Annotated[
        Storage | None,
        typer.Option("--storage", help="Where to keep the key.", show_default="as set, or auto"),
    ] = None,
    allow_http: HttpOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Log in to a hub, and make it the current one.

    Shows a code and the page where you approve it, and waits up to ten minutes. A key that you
    have already is read from stdin; it is tried before it is kept. CI jobs need no login: they
    set PRIME_API_KEY.

    \b
    Example:
      prime login
      prime login --hub https://hub.example.org --name team
      prime login --token-stdin < key.txt
    \b
    See also: `prime logout`, `prime whoami`, `prime context list`.
    """
    from prime_cli.accounts.login import keep_login, try_key
    from prime_cli.accounts.targets import choose_target

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    target = choose_target(session.config, hub=hub, name=name, web_url=None, allow_http=allow_http)
    key = _read_key(session) if token_stdin else _ask_for_key(session, target, headless=headless)
    logged_in = session.hub_at(target.base_url, key)
    account = try_key(logged_in)
    chosen = storage or Storage(session.config.storage.value)
    kept = keep_login(session.config, target, account, key, chosen)
    _report(session, kept, _team(session, target, logged_in))


def _read_key(session: Session) -> str:
    from prime_cli.core.credentials.checked import check_key

    return check_key(session.output.read_secret("Key"), "stdin")


def _ask_for_key(session: Session, target: "Target", *, headless: bool) -> str:
    from prime_cli.accounts.approval import wait_for_key
    from prime_cli.accounts.browser import has_desktop, open_page

    def show(approval: "Approval") -> None:
        session.output.tell(f"Approve the code {approval.code} on this page:")
        session.output.tell(f"  {approval.page}")
        if not headless and has_desktop() and open_page(approval.page):
            session.output.say("It opens in your browser")

    return wait_for_key(session.hub_at(target.base_url), target.web_url, show, session.progress)


def _team(session: Session, target: "Target", hub: "HubClient") -> str | None:
    """The team that the context goes on working for; one that the user has left is taken out."""
    from prime_cli.accounts.teams import keep_team, list_teams

    try:
        teams = list_teams(hub)
    except PrimeError:  # it is only for a hint, and the login is done
        return target.team
    if target.team is None:
        if teams:
            session.output.hint("`prime switch` chooses a team to publish for")
        return None
    if any(target.team in (team.slug, team.team_id) for team in teams):
        return target.team
    session.output.warn(f"You are not in the team `{target.team}`, so you work for yourself now")
    keep_team(session.config.file, target.name, None)
    return None


def _report(session: Session, done: "LoggedIn", team: str | None) -> None:
    from prime_cli.accounts.login import owner_of

    owner = owner_of(done.account)
    record: dict[str, Any] = {
        "context": done.target.name,
        "hub": done.target.base_url,
        "id": done.account.id,
        "owner": owner,
        "team": team,
        "storage": done.kept.storage,
    }
    session.output.done(
        f"Logged in to {done.target.base_url} as {owner} (context `{done.target.name}`)",
        value=record,
    )
    session.output.say(done.kept.sentence)
    warn_overruled(session, done.target.name)
