"""Variables of the environment that win over what a command has just written."""

import os

from prime_cli.core.config import Config, load_config
from prime_cli.core.credentials.store import KEY_VARIABLE
from prime_cli.session import Session


def warn_overruled(session: Session, name: str, *, has_key: bool = True) -> None:
    """Warn where the next command would not use the context `name`, or not the key kept for it."""
    now = load_config()
    if now.context.name != name:
        session.output.warn(
            f"{now.context.source} is set, so commands here use {_title(now)}",
            hint=f"unset {now.context.source}, or add `--context {name}`",
        )
    elif has_key and now.context.takes_key_variable and os.environ.get(KEY_VARIABLE):
        session.output.warn(
            f"{KEY_VARIABLE} is set, and is used instead of the key that was kept",
            hint=f"unset {KEY_VARIABLE}",
        )


def _title(config: Config) -> str:
    named = config.context.name
    return f"{config.context.base_url}" if named == config.context.source else f"`{named}`"
