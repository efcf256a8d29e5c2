"""`prime availability gpu-types`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.words import price_words
from prime_cli.pods.shown_offers import show_types

_COLUMNS = ("GPU", "How many", "From $/h")


def gpu_types(
    ctx: typer.Context,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the types of GPUs there are.

    \b
    Example:
      prime availability gpu-types
    \b
    See also: `prime availability list`, `prime pods create`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    found = show_types(session.hub.availability.summary())
    names = [each.gpu_type for each in found]
    rows = [
        [each.gpu_type, ", ".join(each.gpu_counts), price_words(each.cheapest)] for each in found
    ]
    page = {"gpu_types": names, "total_count": len(names)}
    session.output.table(_COLUMNS, rows, records=found, page=page)
    if not found:
        session.output.say("There is nothing to rent on this hub now")
