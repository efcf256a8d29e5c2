"""Taking over what the official client knows: first what would be done, then doing it."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from prime_cli.accounts.addresses import require_https
from prime_cli.accounts.official import OfficialConfig, OfficialContext, our_name
from prime_cli.core.config import PRIME, Config, Context
from prime_cli.core.config.contexts import read_contexts
from prime_cli.core.config.editing import save_context, use_context
from prime_cli.core.credentials import Kept, Storage, save_credential
from prime_cli.core.credentials.checked import check_key
from prime_cli.core.credentials.file import read_entries
from prime_cli.core.errors import NotLoggedIn, UsageError


class KeyFate(StrEnum):
    """What becomes of a context's key."""

    TAKEN = "taken"
    NONE = "none there"
    OURS = "has one here"
    UNFIT = "not a key"
    OPEN = "not over http"


@dataclass(frozen=True)
class Import:
    """One context: what it is called here and why it is left alone, if it is."""

    name: str
    official: OfficialContext = field(repr=False)
    hub: str
    team: str | None
    key: KeyFate
    is_new: bool
    refused: str | None = None


@dataclass(frozen=True)
class ImportPlan:
    """What an import would do; `current` is the context that becomes the current one, if any."""

    file: Path
    imports: tuple[Import, ...]
    current: str | None


def plan_import(official: OfficialConfig, config: Config) -> ImportPlan:
    """What would be taken; what is set here already wins. Raises UsageError for a broken file."""
    here = {each.name: each for each in read_contexts(config.file)}
    keyed = read_entries(config.home.value)
    imports = tuple(
        _plan(each, here.get(our_name(each)), has_key=our_name(each) in keyed)
        for each in official.contexts
    )
    current = next((i for i in imports if i.official.name == official.current), None)
    chosen = current is not None and config.current is None and not current.refused
    return ImportPlan(official.file, imports, current.name if current and chosen else None)


def run_import(plan: ImportPlan, config: Config, storage: Storage) -> Kept | None:
    """Write the contexts, teams and keys of `plan`; where the keys are, if any was taken.

    A keyring that does not answer for the first key is not asked for the others.
    Raises StorageFailed, Conflict.
    """
    first: Kept | None = None
    for each in plan.imports:
        if each.refused:
            continue
        _save_context(each, config.file)
        if each.key == KeyFate.TAKEN:
            key = check_key(each.official.key or "", "the official client")
            kept = save_credential(config.home.value, each.name, each.hub, key, storage)
            first, storage = first or kept, kept.storage
    if plan.current:
        use_context(config.file, plan.current)
    return first


def _plan(official: OfficialContext, here: Context | None, *, has_key: bool) -> Import:
    refused = None
    if here is not None and here.base_url != official.base_url:
        refused = f"`{here.name}` is {here.base_url} here"
    return Import(
        name=our_name(official),
        official=official,
        hub=official.base_url,
        team=official.team if here is None or here.team is None else here.team,
        key=KeyFate.OURS if has_key else _fate_of_key(official),
        is_new=here is None,
        refused=refused,
    )


def _fate_of_key(official: OfficialContext) -> KeyFate:
    if official.key is None:
        return KeyFate.NONE
    try:
        check_key(official.key, "the official client")
    except NotLoggedIn:
        return KeyFate.UNFIT
    try:
        require_https(official.base_url, allow_http=False)
    except UsageError:
        return KeyFate.OPEN
    return KeyFate.TAKEN


def _save_context(each: Import, file: Path) -> None:
    values: dict[str, str | None] = {"team": each.team} if each.team else {}
    if each.name != PRIME and each.is_new:
        web_url = each.official.web_url if each.official.web_url != each.hub else None
        values = {"base_url": each.hub, "web_url": web_url, **values}
    if values:
        save_context(file, each.name, values)
