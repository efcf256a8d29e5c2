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
from prime_cli.core.env_flags import in_ci
from prime_cli.core.errors import UsageError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.accounts.browser_login import ApprovalRequest
    from prime_cli.accounts.contexts import LoginTarget
    from prime_cli.accounts.login import LoginResult

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

    Shows a code and the page where you approve it, and waits up to ten minutes; in a CI job only
    with --headless. A key that you have already is read from stdin; it is tried before it is
    kept. CI jobs need no login: they set PRIME_API_KEY.

    \b
    Example:
      prime login
      prime login --hub https://hub.example.org --name team
      prime login --token-stdin < key.txt
    \b
    See also: `prime logout`, `prime whoami`, `prime context list`.
    """
    from prime_cli.accounts.contexts import choose_login_target
    from prime_cli.accounts.login import log_in, require_storage

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    target = choose_login_target(session.config, hub=hub, name=name, allow_http=allow_http)
    require_storage(session.config)
    key = _read_key(session) if token_stdin else _ask_for_key(session, target, headless=headless)
    done = log_in(
        session.config,
        target,
        session.hub_at(target.base_url, key),
        key,
        storage or Storage(session.config.storage.value),
        is_new=not token_stdin,
    )
    _report(session, done)


def _read_key(session: Session) -> str:
    from prime_cli.core.credentials.store import check_key

    return check_key(session.output.read_secret("Key"), "stdin")


def _ask_for_key(session: Session, target: "LoginTarget", *, headless: bool) -> str:
    from prime_cli.accounts.browser_login import has_desktop, open_page, wait_for_key

    if in_ci() and not headless:
        # It would wait ten minutes for a person who does not watch.
        raise UsageError(
            "Nobody approves a login in a CI job",
            hint="set PRIME_API_KEY instead, or pipe a key into `prime login --token-stdin`; "
            "`--headless` waits all the same",
        )

    def show(approval: "ApprovalRequest") -> None:
        session.output.tell(f"Approve the code {approval.code} on this page:")
        session.output.tell(f"  {approval.page}")
        if not headless and has_desktop() and open_page(approval.page):
            session.output.say("It opens in your browser")

    return wait_for_key(session.hub_at(target.base_url), target.web_url, show, session.progress)


def _report(session: Session, done: "LoginResult") -> None:
    from prime_cli.accounts.login import publisher_name

    target, owner = done.target, publisher_name(done.account)
    record: dict[str, Any] = {
        "context": target.name,
        "hub": target.base_url,
        "id": done.account.id,
        "owner": owner,
        "team": done.team,
        "storage": done.kept.storage,
    }
    told = f"Logged in to {target.base_url} as {owner} (context `{target.name}`)"
    session.output.done(told, value=record)
    session.output.say(done.kept.sentence)
    if done.left:
        session.output.warn(f"You are not in the team `{done.left}`, so you work for yourself now")
    elif done.teams and done.team is None:
        session.output.hint("`prime switch` chooses a team to publish for")
    warn_overruled(session, target.name)
