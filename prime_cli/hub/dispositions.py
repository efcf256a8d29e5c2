"""`Content-Disposition` of RFC 6266: the name under which a download is saved."""

import re
from urllib.parse import quote

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._+!-]")


def attachment(filename: str) -> str:
    """The header's value, in ASCII; whatever the name holds, nothing of it ends the header."""
    plain = _NOT_PLAIN.sub("_", filename)
    if plain == filename:
        return f'attachment; filename="{plain}"'
    # A lone surrogate has no UTF-8.
    encoded = quote(filename, safe="", errors="replace")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
