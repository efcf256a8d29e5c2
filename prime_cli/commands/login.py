"""`prime login` and `prime logout`."""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer
from msgspec import UNSET, UnsetType

from prime_cli.commands.context import HttpOpt, warn_if_overridden
from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.credentials import KEY_VARIABLE, KeyStorage
from prime_cli.core.env_flags import in_ci
from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.client.accounts.browser_login import ApprovalRequest
    from prime_cli.client.accounts.contexts import LoginTarget
    from prime_cli.client.accounts.login import LoginResult, LogoutResult, RevocationResult


StorageOpt = Annotated[
    KeyStorage | None,
    typer.Option("--storage", help="Where to keep the key.", show_default="as set, or auto"),
]


class LoggedIn(msgspec.Struct, frozen=True, kw_only=True):
    """Who is logged in where; `joined` and `role` are of the team of an invitation."""

    context: str
    hub: str
    id: str
    owner: str
    team: str | None
    storage: str
    joined: str | UnsetType | None = UNSET
    role: str | UnsetType | None = UNSET


@hub_options(answer=LoggedIn, effects=(NETWORK, WRITES))
def login(
    ctx: typer.Context,
    hub: Annotated[
        str | None,
        typer.Option(
            "--hub",
            metavar="URL",
            help="The hub's address.",
            show_default="the current hub, or the public one if that is local",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its name.", show_default="its host"),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Print the URL instead of opening a browser.")
    ] = False,
    token_stdin: Annotated[
        bool,
        typer.Option("--token-stdin", help="Read a key from stdin instead of opening a browser."),
    ] = False,
    storage: StorageOpt = None,
    allow_http: HttpOpt = False,
) -> None:
    """Log in to a hub and make it the current one.

    Shows a code and the page to approve it, and waits up to ten minutes; in a CI job only with
    --headless. To use an existing key, pass it with --token-stdin; it is tested before it is
    saved. CI jobs need no login: set PRIME_API_KEY.

    \b
    Example:
      prime login
      prime login --hub https://hub.example.org --name team
      prime login --token-stdin < key.txt
    \b
    See also: `prime logout`, `prime whoami`, `prime context list`.
    """
    from prime_cli.client.accounts.contexts import choose_login_target
    from prime_cli.client.accounts.login import log_in, require_storage

    session = open_session(ctx)
    target = choose_login_target(session.config, hub=hub, name=name, allow_http=allow_http)
    require_storage(session.config)
    key = _read_key(session) if token_stdin else _ask_for_key(session, target, headless=headless)
    done = log_in(
        session.config,
        target,
        session.hub_at(target.base_url, key),
        key,
        storage or KeyStorage(session.config.storage.value),
        is_new=not token_stdin,
    )
    report(session, done)


def _read_key(session: Session) -> str:
    from prime_cli.core.credentials import check_key

    return check_key(session.output.read_secret("Key"), "stdin")


def _ask_for_key(session: Session, target: "LoginTarget", *, headless: bool) -> str:
    from prime_cli.client.accounts.browser_login import has_desktop, open_page, wait_for_key

    if in_ci() and not headless:
        # It would wait ten minutes for a person who does not watch.
        raise UsageError(
            "Nobody can approve a login in a CI job",
            hint="set PRIME_API_KEY instead, or pipe a key into `prime login --token-stdin`; "
            "`--headless` waits anyway",
        )

    def show(approval: "ApprovalRequest") -> None:
        session.output.tell(f"Approve the code {approval.code} on this page:")
        session.output.tell(f"  {approval.page}")
        if not headless and has_desktop() and open_page(approval.page):
            session.output.say("It opens in your browser")

    return wait_for_key(session.hub_at(target.base_url), target.web_url, show, session.progress)


def report(
    session: Session,
    done: "LoginResult",
    joined: str | UnsetType | None = UNSET,
    role: str | UnsetType | None = UNSET,
) -> None:
    """Say who is logged in where; the team and the role that were `joined` are for programs."""
    from prime_cli.client.accounts.login import publisher_name

    target, owner = done.target, publisher_name(done.account)
    record = LoggedIn(
        context=target.name,
        hub=target.base_url,
        id=done.account.id,
        owner=owner,
        team=done.team,
        storage=done.kept.storage,
        joined=joined,
        role=role,
    )
    told = f"Logged in to {target.base_url} as {owner} (context `{target.name}`)"
    session.output.done(told, value=record)
    session.output.say(done.kept.sentence)
    if done.left:
        session.output.warn(
            f"You are not in the team `{done.left}`, so you now use your personal account"
        )
    elif done.teams and done.team is None:
        session.output.hint("choose a team with `prime switch`")
    warn_if_overridden(session, target.name)


class LoggedOut(msgspec.Struct, frozen=True):
    """A context, and what became of its key."""

    context: str
    key: Literal["revoked", "unknown", "kept", "cannot", "failed"]


class LoggedOutContexts(msgspec.Struct, frozen=True):
    """The contexts whose keys were removed."""

    contexts: list[LoggedOut]


@hub_options(answer=LoggedOutContexts, effects=(NETWORK, WRITES))
def logout(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CONTEXT]", help="The context.", show_default="the current one"),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Remove the keys of all contexts.")
    ] = False,
    revoke: Annotated[
        bool | None,
        typer.Option(
            "--revoke/--keep-key",
            help="Also revoke the key on the hub, or keep it valid there.",
            show_default="revoke keys created by a login",
        ),
    ] = None,
) -> None:
    """Log out of a hub and remove its key.

    Also revokes a key from a browser login, if the hub supports it. A key that you passed yourself
    stays valid unless you add `--revoke`, and your only key from a sign-up is kept. Logins approved
    with a revoked key end too. The context remains, and the built-in hub becomes the current one.

    \b
    Example:
      prime logout
      prime logout team --keep-key
      prime logout --all
    \b
    See also: `prime login`, `prime context delete`.
    """
    from prime_cli.client.accounts.login import contexts_with_keys

    session = open_session(ctx)
    if everywhere and name:
        raise UsageError("Pass a context or `--all`, not both")
    keyed = contexts_with_keys(session.config)
    names = keyed if everywhere else [_chosen(session, name, keyed)]
    results = [_log_out(session, each, wanted=revoke) for each in names if each in keyed]
    told = [_sentence(each) for each in results] or [_nothing(names)]
    records = [LoggedOut(each.context, each.fate.value) for each in results]
    session.output.done("\n".join(told), value=LoggedOutContexts(records))
    for each in results:
        if each.problem:
            session.output.warn(
                f"The key of `{each.context}` could not be revoked: {each.problem}",
                hint="revoke it on the hub's pages",
            )
    if any(each.was_current for each in results):
        session.output.say("The built-in hub (`local`) is now the current one")
    if os.environ.get(KEY_VARIABLE):
        session.output.warn(f"{KEY_VARIABLE} is still set", hint=f"unset {KEY_VARIABLE}")


def _chosen(session: Session, name: str | None, keyed: list[str]) -> str:
    if name is not None:
        if name not in keyed:
            from prime_cli.core.config.contexts import find_context

            find_context(name, session.config.file)
        return name
    if session.config.context.embedded:
        others = ", ".join(f"`prime logout {each}`" for each in keyed)
        raise UsageError(
            "The current hub is `local`, which needs no login",
            hint=f"keys are saved for others: {others}" if keyed else "no key is saved here",
        )
    return session.config.context.name


def _log_out(session: Session, name: str, *, wanted: bool | None) -> "LogoutResult":
    from prime_cli.client.accounts.login import LogoutResult, forget_key

    fate, problem = _revoke(session, name, wanted=wanted)
    return LogoutResult(name, fate, problem, was_current=forget_key(session.config, name))


def _revoke(
    session: Session, name: str, *, wanted: bool | None
) -> "tuple[RevocationResult, str | None]":
    """By the key that is kept, whatever the variables say; one without a context cannot be."""
    from prime_cli.client.accounts.login import RevocationResult, require_way_back, revoke
    from prime_cli.core.config import load_config
    from prime_cli.core.credentials import find_credential

    if wanted is False or (wanted is None and session.config.offline):
        return RevocationResult.KEPT, None
    try:
        config = load_config(context=name, offline=session.config.offline)
        credential = find_credential(config, {})
        if not credential.key or config.context.base_url is None:
            return RevocationResult.KEPT, credential.trouble
        hub = session.hub_at(config.context.base_url, credential.key)
    except PrimeError as error:
        if wanted:
            raise
        return RevocationResult.FAILED, error.message
    if wanted is None:
        require_way_back(hub)
    return revoke(hub, wanted=wanted)


def _sentence(done: "LogoutResult") -> str:
    from prime_cli.client.accounts.login import RevocationResult

    fates = {
        RevocationResult.REVOKED: "its key was revoked and removed",
        RevocationResult.UNKNOWN: "its key was no longer valid, and was removed",
        RevocationResult.KEPT: "its key was removed here, and is still valid on the hub",
        RevocationResult.CANNOT: "its key was removed here; this hub cannot revoke it",
        RevocationResult.FAILED: "its key was removed here",
    }
    return f"Logged out of `{done.context}`: {fates[done.fate]}"


def _nothing(names: list[str]) -> str:
    return f"No key is saved for `{names[0]}`" if names else "No key is saved here"
