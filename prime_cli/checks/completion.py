"""Whether the shells' scripts, where they were installed, are those of this prime."""

from pathlib import Path

from prime_cli.checks.findings import Finding, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.errors import Conflict, PrimeError
from prime_cli.shells.installation import plan_installation
from prime_cli.shells.places import place_for

NAME = "completion"
_SHELLS = ("bash", "zsh", "fish")
"""PowerShell would have to be started to be asked where its profile is."""


def examine(place: Place) -> list[Finding]:
    """One warning for each shell whose script is older than this prime, or is not read."""
    if place.script is None:
        return [skipped(NAME, "Nobody types here")]
    try:
        home = Path.home()
    except RuntimeError:
        return [skipped(NAME, "There is no home folder for a shell's files")]
    stale, installed = [], []
    for shell in _SHELLS:
        there = place_for(shell, home=home, prime_home=place.home, environ=place.environ)
        if not there.script.exists():
            continue
        try:
            changes = plan_installation(there, place.script(shell))
        except Conflict:
            continue  # somebody else's
        except PrimeError as error:
            stale.append(warned(NAME, error.message, error.hint or "make it readable"))
            continue
        if changes:
            what = "does not read its script" if changes[0].is_users else "is not this prime's"
            sentence = f"Completion for {shell} {what}"
            stale.append(warned(NAME, sentence, f"`prime completion install {shell}`"))
        installed.append(shell)
    if stale:
        return stale
    if installed:
        return [ok(NAME, f"Installed for {', '.join(installed)}")]
    return [ok(NAME, "Not installed; `prime completion install` does that")]
