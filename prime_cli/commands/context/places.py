"""Where contexts and keys are kept, found also when the current context is not there any more."""

from typing import TYPE_CHECKING, Any

from prime_cli.core.config import LOCAL, Config, Context, load_config
from prime_cli.core.errors import PrimeError
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.core.credentials.store import CredentialEntry


def settings_of_file() -> Config:
    """The settings without what the current context says, which may be the one to be mended."""
    return load_config(context=LOCAL)


def name_of_current(session: Session) -> str | None:
    """The context that commands here use; None where what is named is not there."""
    try:
        return session.config.context.name
    except PrimeError:
        return None


def kept_keys(config: Config) -> "dict[str, CredentialEntry]":
    """For which contexts a key is kept; no key is read from a keyring."""
    from prime_cli.core.credentials.store import read_entries

    return read_entries(config.home.value)


def key_place(context: Context, kept: "dict[str, CredentialEntry]") -> str | None:
    """`keyring` or `file`, None where no key is kept for the context's own address."""
    entry = kept.get(context.name)
    if entry is None or entry.hub != context.base_url:
        return None
    return "keyring" if entry.account else "file"


def record_of(
    context: Context, kept: "dict[str, CredentialEntry]", current: str | None
) -> dict[str, Any]:
    """A context as JSON shows it; never a key."""
    return {
        "name": context.name,
        "current": context.name == current,
        "base_url": context.base_url,
        "web_url": context.web_url,
        "team": context.team,
        "key": key_place(context, kept),
    }
