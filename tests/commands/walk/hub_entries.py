"""With which words the commands of `prime hub` are run."""

from prime_cli.core.errors import ExitCode
from tests.commands.walk.entry import SERVED, Entry

_CHANGING = {
    "user add": ("eve", "ada", 7),
    "user remove": ("bob --yes", "eve --yes", 6),
    "user unlink": ("{identity} --yes", "idn_0 --yes", 6),
    "team add": ("crew --member bob", "crew --member eve", 6),
    "quota set": ("bob --pods 2", "nobody --pods 2", 6),
    "takedown add": ("bob --reason Spam", "nobody --reason Spam", 6),
    "takedown remove": ("mallory", "eve", 6),
    "team remove": ("lab --yes", "crew --yes", 6),
    "invite": ("--team lab", "--team crew", 6),
    "revoke-invitation": ("{invited}", "no-such", 6),
    "token add": ("bob", "eve", 6),
    "token remove": ("{token}", "no-such", 6),
    "approve": ("{login} --user bob", "AAAA-AAAA --user bob", 6),
    "backup": ("new.tar", "{backup}", 7),
}
"""Those that change the data of the served hub: words, words that fail, and with which code."""

_OF_CHANGING: dict[str, tuple[Entry, ...]] = {
    f"prime hub {command}": (
        Entry(
            f"hub {command} {words} --data {{served}}",
            wrong=f"hub {command} {wrong} --data {{served}}",
            wrong_code=code,
            changes=True,
        ),
    )
    for command, (words, wrong, code) in _CHANGING.items()
}

OF_HUBS: dict[str, tuple[Entry, ...]] = _OF_CHANGING | {
    "prime hub user list": (
        Entry("hub user list --data {served}", wrong="hub user list --data {here}"),
    ),
    "prime hub team list": (Entry("hub team list --data {served}"),),
    "prime hub invitations": (
        Entry(
            "hub invitations --data {served}", wrong="hub invitations --team crew --data {served}"
        ),
    ),
    "prime hub user identities": (Entry("hub user identities --data {served}"),),
    "prime hub quota list": (Entry("hub quota list --data {served}"),),
    "prime hub quota show": (Entry("hub quota show", hub=SERVED),),
    "prime hub takedown list": (Entry("hub takedown list --data {served}"),),
    "prime hub token list": (Entry("hub token list --data {served}"),),
    "prime hub audit": (Entry("hub audit --data {served}"),),
    "prime hub usage": (
        Entry(
            "hub usage --data {served}",
            wrong="hub usage --month May --data {served}",
            wrong_code=ExitCode.USAGE,
        ),
    ),
    "prime hub migrate": (Entry("hub migrate --data {served}"),),
    "prime hub gc": (Entry("hub gc --data {served}", changes=True),),
    "prime hub restore": (
        Entry(
            "hub restore {backup} --data {here}/restored",
            wrong="hub restore no.tar --data {here}/restored",
            changes=True,
        ),
    ),
}
