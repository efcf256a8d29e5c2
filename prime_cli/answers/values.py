"""What the words of the help stand for: a `RUN` is a run wherever a command asks for one.

A command tells what its argument or option takes by its metavar alone; Tab completes from that.
"""

import re

from prime_cli.core.config.settings import SETTINGS

_ENVIRONMENT = ("@starters", "@environments", "@projects", "@files")
_OFFERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("A", "B"), _ENVIRONMENT),  # the sides of `prime env diff`
    "CONTEXT": ("local", "prime", "@contexts"),
    "DIR": ("@folders",),
    "DISK": ("@disks",),
    "ENVIRONMENT": _ENVIRONMENT,
    "EVALUATION": ("@evaluations",),
    "FILE": ("@files",),
    "FOLDER": ("@folders",),
    "MODEL": ("builtin/echo", "builtin/oracle", "@models"),
    "OWNER/NAME": ("@starters", "@environments"),
    "PATH": ("@files",),
    "POD": ("@pods",),
    "PROJECT": ("@projects",),
    "PYTHON": ("@files",),
    "REF": ("@starters", "@environments"),
    "SETTING": tuple(known.name for known in SETTINGS),
    "RUN": ("@runs", "@folders"),
    "SSH_KEY": ("@ssh-keys",),
    "WHEEL": ("@wheels",),
}
_WORD = re.compile(r"[A-Z]+(?:[/_][A-Z]+)?")


def offers_of(metavar: str, starters: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The offers for `[FOLDER|PROJECT|WHEEL]` and the like; none for words that are not known.

    `starters` are the environments that come with prime.
    """
    words = _WORD.findall(metavar.replace("@VERSION", "").upper())
    offers = [offer for word in words for offer in _OFFERS.get(word.removesuffix("S"), ())]
    spread = [starters if offer == "@starters" else (offer,) for offer in offers]
    return tuple(dict.fromkeys(offer for each in spread for offer in each))
