"""One way to run a command."""

from dataclasses import dataclass

BOX = "the hub in this process"
SERVED = "a hub with accounts"


@dataclass(frozen=True)
class Entry:
    """The words after `prime`, and what comes of them.

    `code` is the exit code that it ends with. `wrong` are other words, of the same command, that
    fail with `wrong_code`, because of something else than their form. `is_text` says that it
    prints a text as it is, and no columns. `hub` is BOX or SERVED; `stdin` is what it reads.
    """

    words: str
    code: int = 0
    wrong: str = ""
    wrong_code: int = 6
    changes: bool = False
    is_text: bool = False
    slow: bool = False
    hub: str = BOX
    stdin: str = ""
    env: tuple[tuple[str, str], ...] = ()
