"""`prime whoami`."""

from typing import Any

import typer
from msgspec.structs import asdict

from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import NotLoggedIn
from prime_cli.session import Session
from prime_cli.wire.accounts import Account, Team


class CurrentUser(Account, kw_only=True):
    """What the hub answers, and whence the rest: `owner` is the slug, where there is one."""

    owner: str
    owner_source: str
    team: Team | None
    team_source: str | None
    context: str
    context_source: str
    hub: str | None
    key_source: str | None


@hub_options(answer=CurrentUser)
def whoami(
    ctx: typer.Context,
) -> None:
    """Show the current user and hub.

    Shows the user, the current team, the key's permissions, and the source of each. The local hub
    has no login: the owner is PRIME_OWNER, `owner` in config.toml, or the system user's name.

    \b
    Example:
      prime whoami --output json
    \b
    See also: `prime login`, `prime switch`, `prime config show`.
    """
    from prime_cli.client.accounts.login import publisher_name
    from prime_cli.client.accounts.teams import find_team

    session = open_session(ctx)
    hub = session.config.context
    if not hub.embedded and not session.credential.key:
        raise NotLoggedIn(
            session.credential.trouble or f"No key for {hub.base_url}",
            hint="log in with `prime login`, or set PRIME_API_KEY to your key",
        )
    team = find_team(session.hub, hub.team) if hub.team else None
    account = session.hub.accounts.whoami(team_id=team.team_id if team else None)
    record = _record(session, publisher_name(account), account, team)
    session.output.show(record, lines=_lines(session, record, account, team))


def _lines(
    session: Session, record: CurrentUser, account: Account, team: Team | None
) -> list[tuple[str, str]]:
    from prime_cli.client.accounts.teams import team_title

    hub, credential = session.config.context, session.credential
    source = "the hub" if not hub.embedded else session.config.owner.source
    lines = [("owner", f"{record.owner}  (from {source})")]
    if not hub.embedded:
        told = f"{team_title(team)}, {team.role.lower()}" if team else "none (personal account)"
        lines.append(("team", f"{told}  (from {hub.team_source})"))
    lines += [
        ("hub", f"{hub.base_url or 'in this process'}  (from {hub.source})"),
        ("context", f"{hub.name}  (from {hub.source})"),
        ("key", f"set  (from {credential.source})" if credential.key else credential.source),
    ]
    if account.scope:
        lines.append(("access", f"{'; '.join(_rights(account.scope))}  (from the hub)"))
    if account.email:
        lines.append(("email", account.email))
    return lines


def _rights(scope: dict[str, Any]) -> list[str]:
    """`write: environments, secrets`, then `read: …`; hubs may say what they like of the rest."""
    kinds: dict[str, list[str]] = {"write": [], "read": [], "none": []}
    for kind, allowed in scope.items():
        may = allowed if isinstance(allowed, dict) else {}
        word = "write" if may.get("write") is True else "read" if may.get("read") is True else None
        kinds[word or "none"].append(kind)
    return [f"{word}: {', '.join(named)}" for word, named in kinds.items() if named]


def _record(session: Session, owner: str, account: Account, team: Team | None) -> CurrentUser:
    config, credential = session.config, session.credential
    hub = config.context
    return CurrentUser(
        **asdict(account),
        owner=owner,
        owner_source=config.owner.source if hub.embedded else "hub",
        team=team,
        team_source=None if hub.embedded else hub.team_source,
        context=hub.name,
        context_source=hub.source,
        hub=hub.base_url,
        key_source=credential.source if credential.key else None,
    )
