"""`prime ssh-keys remove`."""

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.commands.ssh_keys.options import SshKeyArg, names_of, record_of
from prime_cli.core.completion_cache import forget
from prime_cli.pods.public_keys import find_key


def remove(
    ctx: typer.Context,
    key: SshKeyArg,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Let a key open no more pods.

    Pods that run keep it until they end. If it was the primary key, the newest of the others
    becomes that.

    \b
    Example:
      prime ssh-keys remove laptop
      prime ssh-keys remove 26d18d91 --yes
    \b
    See also: `prime ssh-keys list`, `prime pods terminate`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    found = find_key(hub, key)
    session.output.confirm(
        f"Remove the SSH key {found.described} from {hub.host}?",
        yes=yes,
        otherwise="Nothing was removed",
    )
    hub.ssh_keys.remove(found.id)
    forget("ssh-keys", names_of(found))
    session.output.done(
        f"Removed {found.described}: it opens no pod that is made from now on",
        value=record_of(found),
    )
