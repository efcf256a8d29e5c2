"""`prime pods cp`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, QuietOpt, open_session
from prime_cli.commands.pods.reaching import (
    IdentityOpt,
    NodeOpt,
    TimeoutOpt,
    find_way,
    noticing_the_end,
)
from prime_cli.core.formatting import pluralize
from prime_cli.pods.ssh.copying import copy, plan_copy


def cp(
    ctx: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[POD:]PATH... [POD:]PATH", help="One side is in a pod: `POD:PATH`."
        ),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Copy folders, and what is in them.")
    ] = False,
    identity: IdentityOpt = None,
    node: NodeOpt = 0,
    timeout: TimeoutOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Copy files to a pod or from it.

    A path in a pod begins at your home there. `*` in it is looked up there; quote it here. A file
    of this machine with a colon in its name is `./a:b`.

    \b
    Example:
      prime pods cp train.py my-pod:
      prime pods cp -r my-pod:results/run-1 .
    \b
    See also: `prime pods ssh`, `prime pods exec`.
    """
    session = open_session(ctx, quiet=quiet, context=context, offline=offline)
    plan = plan_copy(paths)
    route = find_way(session, plan.pod, identity=identity, node=node, timeout=timeout)
    with noticing_the_end(session, route):
        copy(route, plan, recursive=recursive, quiet=quiet)
    where = f"`{plan.pod}`" if plan.uploads else "here"
    session.output.done(f"Copied {pluralize(len(plan.sources), 'path')} to {where}")
