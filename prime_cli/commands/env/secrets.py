"""`prime env secret …` and `prime env var …`."""

from typing import Annotated

import typer

from prime_cli.client.accounts.secrets import is_linked
from prime_cli.client.api.secrets import EnvironmentSecrets, Item
from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, EnvironmentArg, hub_options, open_session
from prime_cli.commands.secrets import (
    Describe,
    NameArg,
    NamedItem,
    NameOpt,
    NewName,
    SecretArg,
    SecretList,
    SecretOwner,
    SecretStore,
    VariableList,
    check_name,
    delete_item,
    one_name,
    read_value,
    set_value,
    show_items,
    update_item,
)
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.envs.hub_environments import find_named
from prime_cli.session import Session
from prime_cli.wire.secrets import EnvironmentVariable, Secret, SecretLink

_HERE = "prime_cli.commands.env.secrets"

secret_app = group(
    "Manage the secrets of an environment.",
    {
        "list": (f"{_HERE}:list_secrets", "List secrets, without their values."),
        "set": (f"{_HERE}:set_secret", "Set a secret, read from stdin or a prompt."),
        "update": (f"{_HERE}:update_secret", "Rename a secret or change its description."),
        "delete": (f"{_HERE}:delete_secret", "Delete a secret."),
        "link": (f"{_HERE}:link", "Link a secret of yours to an environment."),
        "unlink": (f"{_HERE}:unlink", "Unlink a secret from an environment."),
    },
    aliases={"ls": "list", "create": "set", "rm": "delete"},
)

var_app = group(
    "Manage the variables of an environment.",
    {
        "list": (f"{_HERE}:list_variables", "List variables."),
        "set": (f"{_HERE}:set_variable", "Set a variable."),
        "update": (f"{_HERE}:update_variable", "Rename a variable or change its description."),
        "delete": (f"{_HERE}:delete_variable", "Delete a variable."),
    },
    aliases={"ls": "list", "create": "set", "rm": "delete"},
)

ItemArg = Annotated[str | None, typer.Argument(metavar="NAME", help="Its name or id.")]
IdOpt = Annotated[
    str | None, typer.Option("--id", metavar="ID", hidden=True, help="Its id, in place of NAME.")
]


def _links_of(session: Session, environment: str) -> tuple[EnvironmentSecrets, SecretStore]:
    """The secrets of the environment that was named, as links too; raises NotFound."""
    hub, found = find_named(session.hub, environment, session.progress)
    store, slug = hub.secrets.of_environment(found.id), f"{found.owner.name}/{found.name}"
    return store, SecretStore(store, "secret", slug, f"prime env secret list {slug}")


def _secrets_of(session: Session, environment: str) -> SecretStore:
    return _links_of(session, environment)[1]


def _find_own(place: SecretStore, wanted: str) -> Item:
    """A secret of the environment itself; raises NotFound, UsageError for a link."""
    items = place.store.list()
    try:
        return place.find(wanted, [each for each in items if not is_linked(each)])
    except NotFound:
        linked = [each for each in items if is_linked(each) and wanted in (each.name, each.id)]
        if not linked:
            raise
    of_team = linked[0].team_id if isinstance(linked[0], Secret) else None
    team = f" --team {of_team}" if of_team else ""
    raise UsageError(
        f"{place.where} has no secret `{wanted}` of its own, only a link to one",
        hint=f"unlink it with `prime env secret unlink {place.where} {wanted}`, or change it with "
        f"`prime secret update {wanted}{team}`",
    )


def _variables_of(session: Session, environment: str) -> SecretStore:
    hub, found = find_named(session.hub, environment, session.progress)
    slug = f"{found.owner.name}/{found.name}"
    store = hub.secrets.variables_of(found.id)
    return SecretStore(store, "variable", slug, f"prime env var list {slug}")


def _in_order(environment: str, item: str) -> tuple[str, str]:
    """The official client has the item first in some commands; no name of one has a `/`."""
    return (item, environment) if "/" in item and "/" not in environment else (environment, item)


# --- Secrets ---


@hub_options(answer=SecretList, record=Secret)
def list_secrets(ctx: typer.Context, environment: EnvironmentArg) -> None:
    """List secrets, without their values.

    Lists the environment's own secrets and linked ones. Only its owner may see them.

    \b
    Example:
      prime env secret list ada/wordle
    \b
    See also: `prime env secret set`, `prime env var list`.
    """
    session = open_session(ctx)
    place = _secrets_of(session, environment)
    items = place.store.list()
    show_items(session, place, items, lambda each: [each.source])
    if not items:
        session.output.hint(f"set one with `prime env secret set {place.where} NAME`")


@hub_options(answer=Secret, effects=WRITES)
def set_secret(
    ctx: typer.Context,
    environment: EnvironmentArg,
    name: NameArg = None,
    *,
    name_option: NameOpt = None,
    description: Describe = None,
) -> None:
    """Set a secret, read from stdin or a prompt.

    Runs get it by `prime eval run --secrets`. A value is never an option: other users and the
    shell's history would see it.

    \b
    Example:
      prime env secret set ada/wordle API_TOKEN
      prime env secret set ada/wordle API_TOKEN < token.txt
    \b
    See also: `prime env secret link`, `prime eval run --secrets`.
    """
    session = open_session(ctx)
    wanted = check_name(one_name(name, name_option))
    place = _secrets_of(session, environment)
    set_value(session, place, wanted, read_value(session, wanted), description)


@hub_options(answer=Secret, effects=WRITES)
def update_secret(
    ctx: typer.Context,
    environment: EnvironmentArg,
    secret: ItemArg = None,
    *,
    item_id: IdOpt = None,
    name: NewName = None,
    description: Describe = None,
) -> None:
    """Rename a secret or change its description.

    \b
    Example:
      prime env secret update ada/wordle API_TOKEN --name JUDGE_TOKEN
    \b
    See also: `prime env secret set`.
    """
    session = open_session(ctx)
    place = _secrets_of(session, environment)
    update_item(session, place, _find_own(place, one_name(secret, item_id)), name, description)


@hub_options(YES, answer=NamedItem, effects=WRITES)
def delete_secret(
    ctx: typer.Context,
    environment: EnvironmentArg,
    secret: ItemArg = None,
    *,
    item_id: IdOpt = None,
) -> None:
    """Delete a secret.

    \b
    Example:
      prime env secret delete ada/wordle API_TOKEN
    \b
    See also: `prime env secret list`, `prime env secret unlink`.
    """
    session = open_session(ctx)
    place = _secrets_of(session, environment)
    delete_item(session, place, _find_own(place, one_name(secret, item_id)))


@hub_options(answer=SecretLink, effects=WRITES)
def link(
    ctx: typer.Context,
    environment: EnvironmentArg,
    secret: SecretArg,
    owner: SecretOwner,
) -> None:
    """Link a secret of yours to an environment.

    The environment has its value, also after a change. In a run, only those who may use the secret
    itself get it: link a team's secret for all its members.

    \b
    Example:
      prime env secret link ada/wordle API_TOKEN
    \b
    See also: `prime secret set`, `prime env secret unlink`.
    """
    session = open_session(ctx)
    environment, secret = _in_order(environment, secret)
    found = owner.open(session).find(secret)
    store, place = _links_of(session, environment)
    linked = store.link(found.id)
    session.output.done(f"Linked the secret `{found.name}` to {place.where}", value=linked)


@hub_options(YES, answer=NamedItem, effects=WRITES)
def unlink(ctx: typer.Context, environment: EnvironmentArg, secret: SecretArg) -> None:
    """Unlink a secret from an environment.

    \b
    Example:
      prime env secret unlink ada/wordle API_TOKEN
    \b
    See also: `prime env secret link`, `prime secret delete`.
    """
    session = open_session(ctx)
    environment, secret = _in_order(environment, secret)
    store, place = _links_of(session, environment)
    found = place.find(secret, [each for each in store.list() if is_linked(each)])
    named = f"the secret `{found.name}` from {place.where}"
    session.output.confirm(f"Unlink {named}?", otherwise="Nothing was unlinked")
    store.unlink(found.id)
    session.output.done(f"Unlinked {named}", value=NamedItem(found.id, found.name))


# --- Variables ---


@hub_options(answer=VariableList, record=EnvironmentVariable)
def list_variables(ctx: typer.Context, environment: EnvironmentArg) -> None:
    """List variables.

    Only the environment's owner may see them.

    \b
    Example:
      prime env var list ada/wordle
    \b
    See also: `prime env var set`, `prime env secret list`.
    """
    session = open_session(ctx)
    place = _variables_of(session, environment)
    items = place.store.list()
    show_items(session, place, items, lambda each: [each.value])
    if not items:
        session.output.hint(f"set one with `prime env var set {place.where} NAME --value TEXT`")


@hub_options(answer=EnvironmentVariable, effects=WRITES)
def set_variable(
    ctx: typer.Context,
    environment: EnvironmentArg,
    name: NameArg = None,
    *,
    name_option: NameOpt = None,
    value: Annotated[
        str | None,
        typer.Option("--value", "-v", metavar="TEXT", help="The value.", show_default="stdin"),
    ] = None,
    description: Describe = None,
) -> None:
    """Set a variable.

    Its value is shown to everybody who may change the environment; use a secret for a key.

    \b
    Example:
      prime env var set ada/wordle JUDGE_MODEL --value gpt-5-mini
    \b
    See also: `prime env secret set`, `prime eval run --secrets`.
    """
    session = open_session(ctx)
    wanted = check_name(one_name(name, name_option))
    place = _variables_of(session, environment)
    text = read_value(session, wanted) if value is None else value
    set_value(session, place, wanted, text, description)


@hub_options(answer=EnvironmentVariable, effects=WRITES)
def update_variable(
    ctx: typer.Context,
    environment: EnvironmentArg,
    variable: ItemArg = None,
    *,
    item_id: IdOpt = None,
    name: NewName = None,
    description: Describe = None,
) -> None:
    """Rename a variable or change its description.

    \b
    Example:
      prime env var update ada/wordle JUDGE --name JUDGE_MODEL
    \b
    See also: `prime env var set`.
    """
    session = open_session(ctx)
    environment, wanted = _in_order(environment, one_name(variable, item_id))
    place = _variables_of(session, environment)
    update_item(session, place, place.find(wanted), name, description)


@hub_options(YES, answer=NamedItem, effects=WRITES)
def delete_variable(
    ctx: typer.Context,
    environment: EnvironmentArg,
    variable: ItemArg = None,
    *,
    item_id: IdOpt = None,
) -> None:
    """Delete a variable.

    \b
    Example:
      prime env var delete ada/wordle JUDGE_MODEL
    \b
    See also: `prime env var list`.
    """
    session = open_session(ctx)
    environment, wanted = _in_order(environment, one_name(variable, item_id))
    place = _variables_of(session, environment)
    delete_item(session, place, place.find(wanted))
