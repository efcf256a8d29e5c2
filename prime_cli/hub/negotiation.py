"""In which form a page is answered: `Accept` of RFC 9110, with the media types of PEP 691."""

import re
from functools import lru_cache

HTML = "text/html"
HTML_V1 = "application/vnd.pypi.simple.v1+html"
JSON_V1 = "application/vnd.pypi.simple.v1+json"

_NAMES = {
    HTML: HTML,
    HTML_V1: HTML_V1,
    JSON_V1: JSON_V1,
    "application/vnd.pypi.simple.latest+html": HTML_V1,
    "application/vnd.pypi.simple.latest+json": JSON_V1,
}
_WILDCARDS = {"*/*": HTML, "text/*": HTML, "application/*": JSON_V1}
_PREFERRED = (HTML, HTML_V1, JSON_V1)
_QUALITY = re.compile(r"(0(\.[0-9]{0,3})?|1(\.0{0,3})?)")
_LONGEST = 2000


@lru_cache(maxsize=512)
def choose_form(accept: str, wanted: str = "") -> str | None:
    """The media type to answer with; None when none that can be had is accepted.

    `accept` is the header, empty if there is none; `wanted` is the parameter `format` of the URL,
    which goes before it. Of types that are liked as much, one that is named goes before one that a
    wildcard covers, and JSON before HTML.
    """
    if wanted:
        # A `+` that was not escaped has become a space.
        return _NAMES.get(wanted.replace(" ", "+").lower())
    if not accept.strip():
        return HTML
    liked: dict[str, tuple[float, bool]] = {}
    for name, quality in read_accept(accept[:_LONGEST]):
        exact = name in _NAMES
        form = _NAMES.get(name) or _WILDCARDS.get(name)
        if form and (form not in liked or exact >= liked[form][1]):
            liked[form] = (quality, exact)
    best = max(liked, key=lambda form: (liked[form], _PREFERRED.index(form)), default=None)
    return best if best and liked[best][0] > 0 else None


def read_accept(header: str) -> list[tuple[str, float]]:
    """Each media range in lower case with its quality, in their order; what is broken is not."""
    found = []
    for item in header.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = "1"
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            quality = value.strip() if key.strip() == "q" else quality
        if name and _QUALITY.fullmatch(quality):
            found.append((name, float(quality)))
    return found
