"""`prime whoami`."""

from typing import Any

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, open_session
from prime_cli.core.config import Config
from prime_cli.core.credentials import Credential
from prime_cli.core.errors import NotLoggedIn
from prime_cli.wire.accounts import Account
from prime_cli.wire.codec import to_builtins


def whoami(
    ctx: typer.Context,
    output: OutputOpt = None,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show who you are on which hub.

    On the local hub there is no login: the owner is PRIME_OWNER, `owner` in config.toml, or
    the name of the system user.

    \b
    Example:
      prime whoami --output json

    See also: `prime config show`.
    """
    session = open_session(ctx, output=output, context=context, offline=offline)
    config, credential = session.config, session.credential
    if not config.context.embedded and not credential.key:
        raise NotLoggedIn(
            f"No key is set for {config.context.base_url}", hint="set PRIME_API_KEY to your key"
        )
    account = session.hub.accounts.whoami()
    owner = account.slug or account.name or account.id
    record = _record(config, credential, owner, account)
    hub = config.context
    source = "the hub" if not hub.embedded else config.owner.source
    session.output.show(
        record,
        lines=[
            ("owner", f"{owner}  (from {source})"),
            ("hub", f"{hub.base_url or 'in this process'}  (from {hub.source})"),
            ("context", hub.name),
            ("key", f"set  (from {credential.source})" if credential.key else credential.source),
            *([("email", account.email)] if account.email else []),
        ],
    )


def _record(config: Config, credential: Credential, owner: str, account: Account) -> dict[str, Any]:
    """What the hub answers, and whence the rest: `owner` is the slug, where there is one."""
    hub = config.context
    return {
        **to_builtins(account),
        "owner": owner,
        "owner_source": config.owner.source if hub.embedded else "hub",
        "context": hub.name,
        "context_source": hub.source,
        "hub": hub.base_url,
        "key_source": credential.source if credential.key else None,
    }
