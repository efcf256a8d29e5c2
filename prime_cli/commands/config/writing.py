"""What `prime config set` and `unset` share."""

from prime_cli.core.config import DEFAULT, Setting, load_config
from prime_cli.core.config.settings import CONTEXT, as_text
from prime_cli.session import Session


def team_context(session: Session) -> str:
    """The context whose team is written; raises UsageError where config.toml has none."""
    from prime_cli.accounts.teams import require_team_setting

    require_team_setting(session.config)
    return session.config.context.name


def report(session: Session, name: str, written: object) -> None:
    """Say what is set now, and who has the last word if that is not config.toml."""
    config = load_config(context=None if name == CONTEXT.name else session.context_name or None)
    unset = Setting(name, None, DEFAULT)
    now = next((each for each in config.settings() if each.name == name), unset)
    told = f"{name} is {as_text(written)} now" if written is not None else f"{name} is unset"
    session.output.done(told, value=now)
    if now.source.startswith("PRIME_"):
        session.output.warn(
            f"{now.source} is set, and wins: {name} is {as_text(now.value)}",
            hint=f"unset {now.source}",
        )
