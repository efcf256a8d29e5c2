"""`prime context …`, and what other commands need of contexts."""

import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES_OR_FORCE, local_options, open_session
from prime_cli.core.config import LOCAL, Config, Context, load_config
from prime_cli.core.config.contexts import find_context, read_contexts
from prime_cli.core.config.edit import use_context
from prime_cli.core.credentials import KEY_VARIABLE
from prime_cli.core.errors import Conflict, PrimeError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.core.credentials import CredentialEntry


HttpOpt = Annotated[
    bool,
    typer.Option("--allow-http", help="Allow unencrypted HTTP, in a network you trust."),
]

app = group(
    "Manage the hubs that you use.",
    {
        "list": ("prime_cli.commands.context:list_", "List the hubs that you use."),
        "use": ("prime_cli.commands.context:use", "Switch to another hub."),
        "show": ("prime_cli.commands.context:show", "Show a context."),
        "add": (
            "prime_cli.commands.context:add",
            "Add a hub without logging in.",
        ),
        "rename": (
            "prime_cli.commands.context:rename",
            "Rename a context.",
        ),
        "delete": ("prime_cli.commands.context:delete", "Delete a context and its key."),
    },
)


def file_config() -> Config:
    """The settings without what the current context says, which may be the one to be mended."""
    return load_config(context=LOCAL)


def _current_name(session: Session) -> str | None:
    """The context that commands here use; None where what is named is not there."""
    try:
        return session.config.context.name
    except PrimeError:
        return None


def _stored_keys(config: Config) -> "dict[str, CredentialEntry]":
    """For which contexts a key is kept; no key is read from a keyring."""
    from prime_cli.core.credentials import read_entries

    return read_entries(config.home.value)


_KeyPlace = Literal["keyring", "file"]


def _key_storage(context: Context, kept: "dict[str, CredentialEntry]") -> _KeyPlace | None:
    """`keyring` or `file`, None where no key is kept for the context's own address."""
    entry = kept.get(context.name)
    if entry is None or entry.hub != context.base_url:
        return None
    return "keyring" if entry.account else "file"


class ListedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context; `key` says where its key is kept, `base_url` is null for the hub in the box."""

    name: str
    current: bool
    base_url: str | None
    web_url: str | None
    team: str | None
    key: _KeyPlace | None


def _context_record(
    context: Context, kept: "dict[str, CredentialEntry]", current: str | None
) -> ListedContext:
    return ListedContext(
        name=context.name,
        current=context.name == current,
        base_url=context.base_url,
        web_url=context.web_url,
        team=context.team,
        key=_key_storage(context, kept),
    )


def warn_if_overridden(session: Session, name: str, *, has_key: bool = True) -> None:
    """Warn where the next command would not use the context `name`, or not the key kept for it."""
    now = load_config()
    if now.context.name != name:
        session.output.warn(
            f"{now.context.source} is set, so commands here use {_title(now)}",
            hint=f"unset {now.context.source}, or add `--context {name}`",
        )
    elif has_key and now.context.takes_key_variable and os.environ.get(KEY_VARIABLE):
        session.output.warn(
            f"{KEY_VARIABLE} is set, and is used instead of the saved key",
            hint=f"unset {KEY_VARIABLE}",
        )


def _title(config: Config) -> str:
    named = config.context.name
    return f"{config.context.base_url}" if named == config.context.source else f"`{named}`"


class Contexts(msgspec.Struct, frozen=True):
    """All contexts, and the name of the current one."""

    contexts: list[ListedContext]
    current: str | None


@local_options(answer=Contexts, record=ListedContext)
def list_(ctx: typer.Context) -> None:
    """List the hubs that you use.

    `*` marks the current one. Shows where keys are stored, but never a key.

    \b
    Example:
      prime context list
    \b
    See also: `prime context use`, `prime login`, `prime config show`.
    """
    session = open_session(ctx)
    config = file_config()
    kept, current = _stored_keys(config), _current_name(session)
    records = [_context_record(each, kept, current) for each in read_contexts(config.file)]
    session.output.table(
        ["", "Context", "Hub", "Team", "Key"],
        [
            [
                "*" if each.current else "",
                each.name,
                each.base_url or "in this process",
                each.team or "",
                each.key or "",
            ]
            for each in records
        ],
        records=records,
        page=Contexts(records, current),
    )


class ChosenContext(msgspec.Struct, frozen=True):
    """The current context."""

    context: str


@local_options(answer=ChosenContext, effects=WRITES)
def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
) -> None:
    """Switch to another hub.

    \b
    Example:
      prime context use team
      prime context use local
    \b
    See also: `prime context list`, `prime login`.
    """
    session = open_session(ctx)
    use_context(file_config().file, name)
    session.output.done(f"`{name}` is now the current hub", value=ChosenContext(name))
    warn_if_overridden(session, name, has_key=False)


@local_options(answer=ListedContext)
def show(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CONTEXT]", help="The context.", show_default="the current one"),
    ] = None,
) -> None:
    """Show a context.

    Shows its URLs, its team and where its key is stored, but never the key.

    \b
    Example:
      prime context show team
    \b
    See also: `prime context list`, `prime whoami`.
    """
    session = open_session(ctx)
    config = file_config()
    found = find_context(name, config.file) if name else session.config.context
    record = _context_record(found, _stored_keys(config), _current_name(session))
    session.output.show(
        record,
        lines=[
            ("context", f"{found.name}{' (current)' if record.current else ''}"),
            ("hub", found.base_url or "in this process"),
            ("web", found.web_url or "-"),
            ("team", found.team or "-"),
            ("key", record.key or ("no key needed" if found.embedded else "none is kept")),
        ],
    )


class AddedContext(msgspec.Struct, frozen=True):
    """A new context."""

    name: str
    base_url: str


@local_options(answer=AddedContext, effects=WRITES)
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    hub: Annotated[str, typer.Argument(metavar="URL", help="The hub's address.")],
    web_url: Annotated[
        str | None,
        typer.Option(
            "--web-url", metavar="URL", help="The URL of its web pages.", show_default="the same"
        ),
    ] = None,
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="The team to publish for.")
    ] = None,
    allow_http: HttpOpt = False,
) -> None:
    """Add a hub without logging in.

    \b
    Example:
      prime context add team https://hub.example.org
    \b
    See also: `prime login --hub`, `prime context use`.
    """
    from prime_cli.client.accounts.contexts import match_context
    from prime_cli.core.config.edit import save_context

    session = open_session(ctx)
    config = file_config()
    target = match_context(config, hub, name=name, web_url=web_url, allow_http=allow_http)
    if target.known:
        raise Conflict(f"`{name}` is {target.base_url} already", hint="see `prime context list`")
    pages = target.web_url if web_url else None
    save_context(config.file, name, {"base_url": target.base_url, "web_url": pages, "team": team})
    value = AddedContext(name, target.base_url)
    session.output.done(f"`{name}` is {target.base_url}", value=value)
    session.output.hint(f"log in with `prime login --name {name}`")


class RenamedContext(msgspec.Struct, frozen=True):
    """The new name and the old one."""

    name: str
    was: str


@local_options(answer=RenamedContext, effects=WRITES)
def rename(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
    new: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
) -> None:
    """Rename a context.

    \b
    Example:
      prime context rename hub.example.org team
    \b
    See also: `prime context list`.
    """
    from prime_cli.client.accounts.contexts import rename_with_key

    session = open_session(ctx)
    rename_with_key(file_config(), old, new)
    session.output.done(f"`{old}` is now called `{new}`", value=RenamedContext(new, old))


class DeletedContext(msgspec.Struct, frozen=True):
    """The context that is forgotten."""

    name: str


@local_options(YES_OR_FORCE, answer=DeletedContext, effects=WRITES)
def delete(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
) -> None:
    """Delete a context and its key.

    The key stays valid on the hub; to revoke it, run `prime logout` first.

    \b
    Example:
      prime context delete team --yes
    \b
    See also: `prime logout`, `prime context list`.
    """
    from prime_cli.client.accounts.contexts import delete_with_key, require_deletable

    session = open_session(ctx)
    config = file_config()
    require_deletable(config, name)
    if name in _stored_keys(config):
        session.output.confirm(f"Delete `{name}` and its key?", otherwise="Nothing was changed")
    was_current = delete_with_key(config, name)
    session.output.done(f"`{name}` is forgotten", value=DeletedContext(name))
    if was_current:
        session.output.say("The built-in hub (`local`) is now the current one")
