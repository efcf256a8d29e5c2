"""`prime env status`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.envs.names import resolve_name


def status(
    ctx: typer.Context,
    environment: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The environment.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show who sees an environment and what is newest.

    \b
    Example:
      prime env status starter/alphabet-sort
    \b
    See also: `prime env info`, `prime env versions`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    ref = resolve_name(session.hub, environment, progress=session.progress).at(None)
    found = session.hub.of(ref.owner).environments.status(ref)
    newest = found.latest_version
    lines = [
        ("environment", ref.slug),
        ("description", found.description),
        ("visibility", found.visibility.lower()),
        ("newest version", newest.semantic_version if newest else "none"),
    ]
    if newest:
        lines += [("content hash", newest.content_hash), ("published", newest.created_at)]
    session.output.show(found, lines=[(label, text) for label, text in lines if text])
