"""`prime completion install`."""

import typer

from prime_cli.answers import script
from prime_cli.commands.completion.options import ShellArg, carry_out, place_of
from prime_cli.commands.options import DryRunOpt, OutputOpt, QuietOpt, YesOpt, open_session
from prime_cli.shells.installation import plan_installation


def install(
    ctx: typer.Context,
    shell: ShellArg = None,
    yes: YesOpt = False,
    dry_run: DryRunOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Have a shell complete prime's words.

    fish finds the script by itself; for bash, zsh and PowerShell one line is added to .bashrc,
    .zshrc or the profile, once it was shown. After an upgrade of prime, run it again.

    \b
    Example:
      prime completion install
      prime completion install zsh --dry-run

    See also: `prime completion uninstall`, `prime completion bash`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    place = place_of(session, shell)
    changes = plan_installation(place, script(place.shell))
    if not changes and not dry_run:
        session.output.done(
            f"Completion for {place.shell} is installed already", value={"changed": []}
        )
        return
    done = f"Completion for {place.shell} is installed: start a new shell to have it"
    carry_out(session, changes, dry_run=dry_run, yes=yes, done=done)
