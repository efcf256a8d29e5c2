"""`prime env version list | delete`: the official spelling of `versions` and `delete`."""

from typing import Annotated

import typer

from prime_cli.commands.env.delete import delete_planned
from prime_cli.commands.lazy import group
from prime_cli.commands.options import (
    ContextOpt,
    NoQuestionOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.refs import EnvRef

app = group(
    "List the versions of an environment, or delete one.",
    {
        "list": (
            "prime_cli.commands.env.versions:versions",
            "List the versions of an environment.",
        ),
        "delete": (
            "prime_cli.commands.env.version:delete",
            "Delete the version with a content hash.",
        ),
    },
)


def delete(
    ctx: typer.Context,
    environment: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The environment.")],
    content_hash: Annotated[
        str, typer.Argument(metavar="HASH", help="Its content hash, or 8 or more letters of it.")
    ],
    yes: NoQuestionOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Delete the version with a content hash.

    \b
    Example:
      prime env version delete ada/wordle 5f2c91ab
    \b
    See also: `prime env delete`, `prime env versions`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    delete_planned(session, EnvRef.parse(environment).at(content_hash), yes=yes)
