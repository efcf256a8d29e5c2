"""`prime ssh-keys set-primary`."""

import typer
from msgspec.structs import replace

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.ssh_keys.options import SshKeyArg, record_of
from prime_cli.pods.public_keys import KnownKey, find_key


def set_primary(
    ctx: typer.Context,
    key: SshKeyArg,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Choose the key that comes first.

    Hubs that open a pod with one key alone take the primary one where none is named; ours let in
    all keys of those who see a pod.

    \b
    Example:
      prime ssh-keys set-primary work
    \b
    See also: `prime ssh-keys list`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    found = find_key(hub, key)
    hub.ssh_keys.set_primary(found.id)
    now = KnownKey(replace(found.key, is_primary=True), found.kind, found.fingerprint)
    session.output.done(f"The primary key is {found.described}", value=record_of(now))
