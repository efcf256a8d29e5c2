"""`prime config …`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.context import ChosenContext, file_config
from prime_cli.commands.context import use as context_use
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import (
    CONTEXT,
    OUTPUT,
    QUIET,
    DryRunOpt,
    common_options,
    hub_options,
    local_options,
    open_session,
)
from prime_cli.core.config import DEFAULT, Setting, load_config
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.core.config.edit import (
    save_context,
    set_entry,
    set_value,
    unset_value,
    use_context,
)
from prime_cli.core.config.settings import (
    CONTEXT as CONTEXT_SETTING,
)
from prime_cli.core.config.settings import (
    ENV_VARS,
    TEAM,
    as_text,
    env_vars_of,
    environment_in,
    find_setting,
    refuse_secret,
    unknown_setting,
)
from prime_cli.core.credentials import KeyStorage, credentials_file
from prime_cli.core.errors import NotFound
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.client.accounts.official_import import ContextImport, ImportPlan


app = group(
    "Show and change settings.",
    {
        "show": ("prime_cli.commands.config:show", "Show every setting and its source."),
        "get": ("prime_cli.commands.config:get", "Print one setting."),
        "set": ("prime_cli.commands.config:set_", "Set a value in config.toml."),
        "unset": ("prime_cli.commands.config:unset", "Remove a value from config.toml."),
        "use": ("prime_cli.commands.config:use", "Switch to another hub."),
        "path": ("prime_cli.commands.config:path", "Print the path of config.toml."),
        "import": (
            "prime_cli.commands.config:import_",
            "Import contexts and keys from the official client.",
        ),
    },
    aliases={"view": "show"},
)


def _team_context(session: Session) -> str:
    """The context whose team is written; raises UsageError where config.toml has none."""
    from prime_cli.client.accounts.teams import require_team_setting

    require_team_setting(session.config)
    return session.config.context.name


def _report(session: Session, name: str, written: object) -> None:
    """Say what is set now, and who has the last word if that is not config.toml."""
    config = load_config(
        context=None if name == CONTEXT_SETTING.name else session.context_name or None
    )
    unset = Setting(name, None, DEFAULT)
    now = next((each for each in config.settings() if each.name == name), unset)
    told = f"{name} is {as_text(written)} now" if written is not None else f"{name} is unset"
    session.output.done(told, value=now)
    if now.source.startswith("PRIME_"):
        session.output.warn(
            f"{now.source} is set and takes precedence: {name} is {as_text(now.value)}",
            hint=f"unset {now.source}",
        )


class ShownSetting(msgspec.Struct, frozen=True):
    """A value and its source; `shadows` is the one in config.toml that a variable overrides."""

    value: Any
    source: str
    shadows: str | None


@hub_options(answer=dict[str, ShownSetting], record=Setting[Any])
def show(
    ctx: typer.Context,
) -> None:
    """Show every setting and its source.

    Flags override variables, variables override config.toml, and config.toml overrides defaults.
    Keys are never shown.

    \b
    Example:
      prime config show --output json

    See also: `prime config set`, `prime context list`, `prime whoami`.
    """
    session = open_session(ctx)
    credential = session.credential
    if credential.trouble:
        session.output.warn(credential.trouble)
    key = Setting("key", "set" if credential.key else None, credential.source)
    settings = [*session.config.settings(), key]
    session.output.table(
        ["Setting", "Value", "Source"],
        [[each.name, as_text(each.value) or "-", _source(each)] for each in settings],
        records=settings,
        page={each.name: ShownSetting(each.value, each.source, each.shadows) for each in settings},
    )


def _source(setting: Setting[object]) -> str:
    if setting.shadows is None:
        return setting.source
    return f"{setting.source}, not `{setting.shadows}` of config.toml"


@hub_options(answer=Setting[Any])
def get(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
) -> None:
    """Print one setting.

    Prints only the value, for scripts, or an empty line if there is none. `--output json` includes
    the source.

    \b
    Example:
      prime config get hub --context team

    See also: `prime config show`, `prime config set`.
    """
    session = open_session(ctx)
    refuse_secret(name)
    settings = {each.name: each for each in session.config.settings()}
    environment = environment_in(name)
    wanted = name.replace("-", "_").lower()
    if environment is not None:
        wanted = env_vars_of(environment).name
        settings.setdefault(wanted, Setting(wanted, None, DEFAULT))
    found = settings.get(wanted)
    if found is None:
        raise unknown_setting(name, list(settings))
    session.output.text(as_text(found.value) or "\n", record=found)


@common_options(OUTPUT, QUIET, CONTEXT, answer=Setting[Any], effects=WRITES)
def set_(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value.")],
) -> None:
    """Set a value in config.toml.

    Keeps the file's comments and order. `context` is the current hub, `team` belongs to the
    context; `env-vars.owner/name` lists variables that this environment may read although they
    look like secrets. Keys are not settings: save one with `prime login --token-stdin`.

    \b
    Example:
      prime config set owner ada
      prime config set upstream none
      prime config set env-vars.ada/wordle SERPER_KEY,JUDGE_KEY

    See also: `prime config show`, `prime config unset`, `prime switch`.
    """
    session = open_session(ctx)
    known = find_setting(name)
    value = value.strip()
    written = known.to_toml(value)
    file = file_config().file
    if known is CONTEXT_SETTING:
        use_context(file, value)
    elif known is TEAM:
        save_context(file, _team_context(session), {"team": None if value == PERSONAL else value})
    elif environment := environment_in(known.name):
        set_entry(file, ENV_VARS, environment, list(known.parse(value, known.name)))
    else:
        set_value(file, known.name, written)
    _report(session, known.name, written)


@common_options(OUTPUT, QUIET, CONTEXT, answer=Setting[Any], effects=WRITES)
def unset(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
) -> None:
    """Remove a value from config.toml.

    The default or a variable then applies. Succeeds even if there was no value.

    \b
    Example:
      prime config unset upstream

    See also: `prime config show`, `prime config set`, `prime logout`.
    """
    session = open_session(ctx)
    known = find_setting(name)
    file = file_config().file
    if known is TEAM:
        save_context(file, _team_context(session), {"team": None})
    elif environment := environment_in(known.name):
        set_entry(file, ENV_VARS, environment, None)
    else:
        unset_value(file, known.name)
    _report(session, known.name, None)


@local_options(answer=ChosenContext, effects=WRITES)
def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
) -> None:
    """Switch to another hub.

    The same as `prime context use`.

    \b
    Example:
      prime config use team

    See also: `prime context list`, `prime login`.
    """
    context_use(ctx, name)


class ConfigPaths(msgspec.Struct, frozen=True):
    """config.toml, the file of keys, and prime's home."""

    config: Path
    credentials: Path
    home: Path


@local_options(answer=ConfigPaths)
def path(ctx: typer.Context) -> None:
    """Print the path of config.toml.

    The file may not exist yet. JSON also has the paths of the key file and of prime's home.

    \b
    Example:
      $EDITOR "$(prime config path)"

    See also: `prime config show`, `prime config set`.
    """
    session = open_session(ctx)
    config = file_config()
    home = config.home.value
    record = ConfigPaths(config.file, credentials_file(home), home)
    session.output.text(str(config.file), record=record)


class ImportedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A context; `key` says what becomes of its key, `refused` why it is left out."""

    name: str
    hub: str
    team: str | None
    key: str
    current: bool
    refused: str | None


class OfficialImport(msgspec.Struct, frozen=True):
    """What is imported from the file, or would be."""

    source: Path
    dry_run: bool
    contexts: list[ImportedContext]


@local_options(answer=OfficialImport, record=ImportedContext, effects=WRITES)
def import_(
    ctx: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="The official client's config.json, or its folder.",
            show_default="~/.prime/config.json",
        ),
    ] = None,
    storage: Annotated[
        KeyStorage | None,
        typer.Option("--storage", help="Where to keep the keys.", show_default="as set, or auto"),
    ] = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Import contexts and keys from the official client.

    Never changes the client's files. Keeps existing contexts, teams and keys. The client's current
    context becomes the current one unless you have already chosen one.

    \b
    Example:
      prime config import --dry-run
      prime config import ~/old-home/.prime

    See also: `prime login`, `prime context list`, `prime config show`.
    """
    from prime_cli.client.accounts.official_import import plan_import, read_official, run_import

    session = open_session(ctx)
    config = file_config()
    plan = plan_import(read_official(path or _official_file()), config)
    _show_import(session, plan, dry_run=dry_run)
    if dry_run:
        session.output.done("Nothing was written; run it without `--dry-run` to import this")
        return
    kept = run_import(plan, config, storage or KeyStorage(config.storage.value))
    session.output.done(f"Imported {plan.file}")
    if kept:
        session.output.say(kept.sentence)


def _official_file() -> Path:
    try:
        return Path.home() / ".prime" / "config.json"
    except RuntimeError as error:
        raise NotFound("There is no home folder to search", hint="name the file") from error


def _show_import(session: Session, plan: "ImportPlan", *, dry_run: bool) -> None:
    records = [
        ImportedContext(
            name=each.name,
            hub=each.hub,
            team=each.team,
            key=each.key.value,
            current=each.name == plan.current,
            refused=each.refused,
        )
        for each in plan.imports
    ]
    session.output.table(
        ["Context", "Hub", "Team", "Key", ""],
        [
            [
                each.name,
                each.hub,
                each.team or "",
                each.key.value,
                _import_remark(each, plan.current),
            ]
            for each in plan.imports
        ],
        records=records,
        page=OfficialImport(plan.file, dry_run, records),
    )


def _import_remark(each: "ContextImport", current: str | None) -> str:
    if each.refused:
        return f"left out: {each.refused}"
    return "becomes the current one" if each.name == current else ""
