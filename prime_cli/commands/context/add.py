"""`prime context add`."""

from typing import Annotated

import typer

from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.login import HttpOpt
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import Conflict


def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    hub: Annotated[str, typer.Argument(metavar="URL", help="The hub's address.")],
    web_url: Annotated[
        str | None,
        typer.Option(
            "--web-url", metavar="URL", help="Where its pages are.", show_default="the same"
        ),
    ] = None,
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="The team to publish for.")
    ] = None,
    allow_http: HttpOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a hub known, without logging in to it.

    \b
    Example:
      prime context add team https://hub.example.org
    \b
    See also: `prime login --hub`, `prime context use`.
    """
    from prime_cli.accounts.contexts import match_context
    from prime_cli.core.config.edit import save_context

    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    target = match_context(config, hub, name=name, web_url=web_url, allow_http=allow_http)
    if target.known:
        raise Conflict(f"`{name}` is {target.base_url} already", hint="see `prime context list`")
    pages = target.web_url if web_url else None
    save_context(config.file, name, {"base_url": target.base_url, "web_url": pages, "team": team})
    session.output.done(
        f"`{name}` is {target.base_url}", value={"name": name, "base_url": target.base_url}
    )
    session.output.hint(f"log in with `prime login --name {name}`")
