"""`prime secret …`, and what it shares with the secrets and variables of environments."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import typer

from prime_cli.client.accounts.secrets import find_item, set_item
from prime_cli.client.api.secrets import Item, ItemStore
from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.commands.pods.teams import choose_team
from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option
from prime_cli.session import Session
from prime_cli.wire.secrets import EnvironmentVariable, Secret

_HERE = "prime_cli.commands.secrets"

app = group(
    "Manage your secrets and those of your teams.",
    {
        "list": (f"{_HERE}:list_", "List secrets, without their values."),
        "set": (f"{_HERE}:set_", "Set a secret, read from stdin or a prompt."),
        "get": (f"{_HERE}:get", "Show a secret, without its value."),
        "update": (f"{_HERE}:update", "Rename a secret or change its description."),
        "delete": (f"{_HERE}:delete", "Delete a secret."),
    },
    aliases={"ls": "list", "create": "set", "rm": "delete"},
)

_NAME = re.compile("[A-Z][A-Z0-9_]{0,254}")
_MOST_BYTES = 96 * 1024

# --- Shared with `prime env secret` and `prime env var` ---


class SecretList(msgspec.Struct, frozen=True):
    """Secrets, without their values."""

    secrets: Sequence[Secret]


class VariableList(msgspec.Struct, frozen=True):
    """The variables of an environment."""

    variables: Sequence[EnvironmentVariable]


class NamedItem(msgspec.Struct, frozen=True):
    """A secret or variable that was deleted or unlinked."""

    id: str
    name: str


@dataclass(frozen=True)
class SecretStore:
    """Where items are kept, what they are (`secret` or `variable`), and whose.

    `where` is an environment or a team, or empty for the user; `listing` is the command that lists
    them.
    """

    store: ItemStore
    what: str
    where: str
    listing: str

    @property
    def plural(self) -> str:
        """The field of a JSON list, as in the official client."""
        return f"{self.what}s"

    def title(self, name: str) -> str:
        """What the item `name` is called in a sentence."""
        quoted = f"{self.what} `{name}`"
        return f"the {quoted} of {self.where}" if self.where else f"your {quoted}"

    def find(self, wanted: str, among: Sequence[Item] | None = None) -> Item:
        """The item with this name or id, of all by default; raises NotFound or UsageError."""
        return find_item(
            self.store.list() if among is None else among,
            wanted,
            self.title(wanted[:80]),
            hint=f"list them with `{self.listing}`",
        )


Describe = Annotated[
    str | None, typer.Option("--description", "-d", metavar="TEXT", help="What it is for.")
]
NewName = Annotated[str | None, typer.Option("--name", "-n", metavar="NAME", help="The new name.")]
NameArg = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="The name: capital letters, digits and `_`."),
]
NameOpt = Annotated[
    str | None, typer.Option("--name", "-n", metavar="NAME", hidden=True, help="The name.")
]
SecretArg = Annotated[str, typer.Argument(metavar="SECRET", help="Its name or id.")]


def one_name(argument: str | None, option: str | None) -> str:
    """The name, which the official client takes as `--name`; raises UsageError."""
    if (argument is None) == (option is None):
        raise UsageError("Give one name, such as `API_TOKEN`")
    return argument or option or ""


def check_name(name: str) -> str:
    """`name`, if an environment variable may have it on the hub; raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name[:80]}` cannot be the name of a variable",
            hint="write capital letters, digits and `_`, as in `API_TOKEN`",
        )
    return name


def read_value(session: Session, name: str) -> str:
    """A value from stdin or a prompt without echo; raises UsageError for none."""
    value = session.output.read_secret(f"Value of {name}", most=_MOST_BYTES)
    if not value:
        raise UsageError(
            "stdin has no value",
            hint="pipe it in, as in `… < FILE`: on the command line, other users and the shell's "
            "history would see it",
        )
    return value


def show_items(
    session: Session, place: SecretStore, items: Sequence[Item], cells: Callable[[Any], list[str]]
) -> None:
    """A table of names and `cells`; in JSON a SecretList or a VariableList."""
    is_variable = place.what == "variable"
    middle = "Value" if is_variable else "Source"
    page = (VariableList if is_variable else SecretList)(items)  # type: ignore[arg-type]
    rows = [
        [each.name, *cells(each), each.description or "", each.updated_at, each.id]
        for each in items
    ]
    columns = ("Name", middle, "Description", "Updated", "Id")
    session.output.table(columns, rows, records=items, page=page)


def show_item(session: Session, item: Item) -> None:
    """Its fields; there is no value among a secret's."""
    fields = msgspec.to_builtins(item)
    lines = [(name, str(text)) for name, text in fields.items() if text not in (None, "", False)]
    session.output.show(item, lines=lines)


def set_value(
    session: Session, place: SecretStore, name: str, value: str, description: str | None
) -> None:
    """Store it, and say what was done."""
    done = set_item(place.store, name, value, description)
    verb = "Created" if done.created else "Changed"
    session.output.done(f"{verb} {place.title(name)}", value=done.item)


def update_item(
    session: Session, place: SecretStore, item: Item, name: str | None, description: str | None
) -> None:
    """Change what is said; raises UsageError if nothing is."""
    if name is None and description is None:
        raise UsageError("Give a new `--name` or `--description`")
    if name is not None:
        check_name(name)
    changed = place.store.update(item.id, name=name, description=description)
    session.output.done(f"Changed {place.title(changed.name)}", value=changed)


def delete_item(session: Session, place: SecretStore, item: Item) -> None:
    """Ask, and delete it."""
    named = place.title(item.name)
    session.output.confirm(f"Delete {named}?", otherwise="Nothing was deleted")
    place.store.delete(item.id)
    session.output.done(f"Deleted {named}", value=NamedItem(item.id, item.name))


# --- `prime secret` ---

SECRET_TEAM = Option(
    "A team's secrets; `personal` for yours.",
    names=("--team", "-t"),
    metavar="TEAM",
    show_default="the current team",
)


@dataclass(frozen=True)
class SecretOwner:
    """Whose secrets they are: the slug or id of a team."""

    team: Annotated[str | None, SECRET_TEAM] = None

    def open(self, session: Session) -> SecretStore:
        """The place of the secrets; raises NotFound for a team that the user is not in."""
        team = choose_team(session, self.team)
        store = session.hub.secrets.of_owner(team.team_id if team else None)
        if team is None:
            return SecretStore(store, "secret", "", "prime secret list")
        listing = f"prime secret list --team {team.slug}"
        return SecretStore(store, "secret", f"the team `{team.slug}`", listing)


@hub_options(answer=SecretList, record=Secret)
def list_(ctx: typer.Context, owner: SecretOwner) -> None:
    """List secrets, without their values.

    \b
    Example:
      prime secret list
      prime secret list --team lab --output json
    \b
    See also: `prime secret set`, `prime env secret list`.
    """
    session = open_session(ctx)
    place = owner.open(session)
    items = place.store.list()
    show_items(session, place, items, lambda each: [each.source])
    if not items:
        session.output.hint("set one with `prime secret set NAME`")


@hub_options(answer=Secret, effects=WRITES)
def set_(
    ctx: typer.Context,
    name: NameArg = None,
    *,
    name_option: NameOpt = None,
    description: Describe = None,
    owner: SecretOwner,
) -> None:
    """Set a secret, read from stdin or a prompt.

    The hub keeps it sealed and never shows it again. An environment gets it by
    `prime env secret link`, a run of that environment by `prime eval run --secrets`. A value is
    never an option: other users and the shell's history would see it.

    \b
    Example:
      prime secret set API_TOKEN
      prime secret set API_TOKEN --team lab < token.txt
    \b
    See also: `prime env secret set`, `prime env secret link`.
    """
    session = open_session(ctx)
    wanted = check_name(one_name(name, name_option))
    place = owner.open(session)
    set_value(session, place, wanted, read_value(session, wanted), description)


@hub_options(answer=Secret)
def get(ctx: typer.Context, secret: SecretArg, owner: SecretOwner) -> None:
    """Show a secret, without its value.

    \b
    Example:
      prime secret get API_TOKEN
    \b
    See also: `prime secret list`.
    """
    session = open_session(ctx)
    show_item(session, owner.open(session).find(secret))


@hub_options(answer=Secret, effects=WRITES)
def update(
    ctx: typer.Context,
    secret: SecretArg,
    *,
    name: NewName = None,
    description: Describe = None,
    owner: SecretOwner,
) -> None:
    """Rename a secret or change its description.

    `prime secret set` changes its value.

    \b
    Example:
      prime secret update API_TOKEN --description "For the judge"
    \b
    See also: `prime secret set`.
    """
    session = open_session(ctx)
    place = owner.open(session)
    update_item(session, place, place.find(secret), name, description)


@hub_options(YES, answer=NamedItem, effects=WRITES)
def delete(ctx: typer.Context, secret: SecretArg, owner: SecretOwner) -> None:
    """Delete a secret.

    Environments that it is linked to lose it too.

    \b
    Example:
      prime secret delete API_TOKEN
    \b
    See also: `prime secret list`, `prime env secret unlink`.
    """
    session = open_session(ctx)
    place = owner.open(session)
    delete_item(session, place, place.find(secret))
