"""`prime completion uninstall`."""

import typer

from prime_cli.commands.completion.options import ShellArg, carry_out, place_of
from prime_cli.commands.options import DryRunOpt, OutputOpt, QuietOpt, YesOpt, open_session
from prime_cli.shells.installation import plan_removal


def uninstall(
    ctx: typer.Context,
    shell: ShellArg = None,
    yes: YesOpt = False,
    dry_run: DryRunOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Undo what install did.

    The script is removed, and the line that was added to the shell's own file.

    \b
    Example:
      prime completion uninstall zsh

    See also: `prime completion install`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    place = place_of(session, shell)
    changes = plan_removal(place)
    if not changes and not dry_run:
        session.output.done(f"Completion for {place.shell} is not installed", value={"changed": []})
        return
    done = f"Completion for {place.shell} is gone from new shells"
    carry_out(session, changes, dry_run=dry_run, yes=yes, done=done)
