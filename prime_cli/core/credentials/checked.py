"""What can be a key: it has to fit on a header's line."""

import re

from prime_cli.core.errors import NotLoggedIn

LONGEST_KEY = 4096

_KEY = re.compile(r"[\x21-\x7e]+")


def check_key(text: str, source: str) -> str:
    """`text` without blanks around it; raises NotLoggedIn for what no hub can have given.

    The message names `source`, never the text.
    """
    key = text.strip()
    if not key:
        raise NotLoggedIn(f"The key from {source} is empty")
    if len(key) > LONGEST_KEY or not _KEY.fullmatch(key):
        raise NotLoggedIn(
            f"What {source} gives is not a key: keys are one word of printable ASCII characters"
        )
    return key
