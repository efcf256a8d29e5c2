"""`prime logout`."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.credentials.store import KEY_VARIABLE
from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.accounts.logout import LogoutResult, RevocationResult


def logout(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CONTEXT]", help="The context.", show_default="the current one"),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Forget the keys of all contexts.")
    ] = False,
    revoke: Annotated[
        bool | None,
        typer.Option(
            "--revoke/--keep-key",
            help="Make the key worth nothing on the hub as well, or leave it good.",
            show_default="revoke what a login made",
        ),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Forget the key of a hub.

    A key that `prime login` got by a page is revoked too, where the hub can do that; a key that
    you gave it yourself stays good unless you say `--revoke`. Logins that were approved with a
    revoked key end too. The hub stays known as a context, and the local one is current then.

    \b
    Example:
      prime logout
      prime logout team --keep-key
      prime logout --all
    \b
    See also: `prime login`, `prime context delete`.
    """
    from prime_cli.accounts.logout import contexts_with_keys

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if everywhere and name:
        raise UsageError("Name a context or give `--all`, not both")
    keyed = contexts_with_keys(session.config)
    names = keyed if everywhere else [_chosen(session, name, keyed)]
    results = [_log_out(session, each, wanted=revoke) for each in names if each in keyed]
    told = [_sentence(each) for each in results] or [_nothing(names)]
    records = [{"context": each.context, "key": each.fate} for each in results]
    session.output.done("\n".join(told), value={"contexts": records})
    for each in results:
        if each.problem:
            session.output.warn(
                f"The key of `{each.context}` could not be revoked: {each.problem}",
                hint="revoke it on the hub's own pages",
            )
    if any(each.was_current for each in results):
        session.output.say("The hub in this process (`local`) is the current one now")
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
            "The current hub is `local`, which has no login",
            hint=f"keys are kept for others: {others}" if keyed else "no key is kept here",
        )
    return session.config.context.name


def _log_out(session: Session, name: str, *, wanted: bool | None) -> "LogoutResult":
    from prime_cli.accounts.logout import LogoutResult, forget_key

    fate, problem = _revoke(session, name, wanted=wanted)
    return LogoutResult(name, fate, problem, was_current=forget_key(session.config, name))


def _revoke(
    session: Session, name: str, *, wanted: bool | None
) -> "tuple[RevocationResult, str | None]":
    """By the key that is kept, whatever the variables say; one without a context cannot be."""
    from prime_cli.accounts.logout import RevocationResult, revoke
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
    return revoke(hub, wanted=wanted)


def _sentence(done: "LogoutResult") -> str:
    from prime_cli.accounts.logout import RevocationResult

    fates = {
        RevocationResult.REVOKED: "its key is revoked and forgotten",
        RevocationResult.UNKNOWN: "its key was good no more, and is forgotten",
        RevocationResult.KEPT: "its key is forgotten here, and still good on the hub",
        RevocationResult.CANNOT: "its key is forgotten here; this hub revokes none by itself",
        RevocationResult.FAILED: "its key is forgotten here",
    }
    return f"Logged out of `{done.context}`: {fates[done.fate]}"


def _nothing(names: list[str]) -> str:
    return f"No key is kept for `{names[0]}`" if names else "No key is kept here"
