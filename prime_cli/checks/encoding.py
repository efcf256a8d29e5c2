"""In which characters prime talks, and names files."""

import locale
import sys

from prime_cli.checks.findings import Finding, ok, warned
from prime_cli.checks.place import Place

NAME = "encoding"


def examine(place: Place) -> list[Finding]:
    """A warning where something cannot hold every character, which is then shown as `?`."""
    known = {
        **place.encodings,
        "file names": sys.getfilesystemencoding(),
        "files of other programs": locale.getpreferredencoding(do_setlocale=False),
    }
    narrow = {what: name for what, name in known.items() if not is_unicode(name)}
    if not narrow:
        return [ok(NAME, "UTF-8 everywhere")]
    told = ", ".join(f"{what}: {name}" for what, name in narrow.items())
    sentence = f"Not every character can be written ({told})"
    step = "`set PYTHONUTF8=1`" if sys.platform == "win32" else "`export PYTHONUTF8=1`"
    return [warned(NAME, sentence, f"{step}, or choose a UTF-8 locale")]


def is_unicode(name: str) -> bool:
    """Whether the encoding holds every character."""
    return name.lower().replace("_", "-").startswith("utf")
