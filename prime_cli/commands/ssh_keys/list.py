"""`prime ssh-keys list`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.ssh_keys.options import names_of, record_of
from prime_cli.core.completion_cache import replace
from prime_cli.pods.public_keys import known_keys

_COLUMNS = ("", "Name", "Fingerprint", "Type")


def list_(
    ctx: typer.Context,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the public keys that open your pods.

    The primary one, marked with a star, comes first. Ids are in `--output json`.

    \b
    Example:
      prime ssh-keys list
      prime ssh-keys list --output json
    \b
    See also: `prime ssh-keys add`, `prime ssh-keys set-primary`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    keys = known_keys(session.hub)
    replace("ssh-keys", [name for key in keys for name in names_of(key)])
    rows = [
        ["*" if key.key.is_primary else "", key.name, key.fingerprint, key.kind] for key in keys
    ]
    records = [record_of(key) for key in keys]
    page = {"ssh_keys": records, "total_count": len(records)}
    session.output.table(_COLUMNS, rows, records=records, page=page)
    if not keys:
        session.output.hint("add yours with `prime ssh-keys add`")
