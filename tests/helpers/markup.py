"""HTML and Markdown that somebody might try, for hypothesis, and what may be left of it."""

import re
from collections.abc import Mapping

from hypothesis import strategies as st

_NAMES = st.sampled_from(
    "script img svg iframe a p td table math style base form input object embed link meta template "
    "noscript title textarea select details mtext mglyph annotation-xml foreignObject xmp".split()
)
_ADDRESSES = st.sampled_from(
    [
        "javascript:alert(1)", "JaVa\tScript:alert(1)", "&#106;avascript:alert(1)",
        "data:text/html,x", "vbscript:x", "//evil.example/x", "\\\\evil.example", "https://evil.example/?a=b#c",
        "mailto:a@b.example", "#part", "docs/a.md", "../../x", "%2e%2e/x", "/etc", "?a", "",
        "file:///etc/passwd", "blob:x", "http:x", "https:\\x", " javascript:x", "\x01javascript:x",
    ]
)  # fmt: skip
_ATTRIBUTES = st.one_of(
    st.builds(
        '{}="{}"'.format, st.sampled_from(["href", "src", "xlink:href", "action"]), _ADDRESSES
    ),
    st.builds(
        "{}={}".format,
        st.sampled_from(["onclick", "onerror", "onload", "style", "class", "id", "name", "srcdoc"]),
        st.sampled_from(["alert(1)", "'color:red'", '"x', "`", "top"]),
    ),
)
_PIECES = st.one_of(
    st.text(alphabet="<>[]()!\"'`:/=\\ \n&#;-*_|~\x00\u2028", max_size=8),
    st.text(max_size=6),
    st.builds("[{}]({})".format, st.text(max_size=4), _ADDRESSES),
    st.builds('![{}]({} "{}")'.format, st.text(max_size=4), _ADDRESSES, _ATTRIBUTES),
    st.builds("[x]: {} '{}'\n\n[x]".format, _ADDRESSES, _ATTRIBUTES),
    st.builds("<{}>".format, _ADDRESSES),
    st.builds("\n```{}\n{}\n```\n".format, _ATTRIBUTES, st.text(max_size=6)),
    st.builds("\n| a | b |\n|{}|--:|\n| {} | c |\n".format, st.just(":-:"), _ATTRIBUTES),
    st.sampled_from(
        ["<!--", "-->", "<![CDATA[", "]]>", "<?x ?>", "<!doctype html>", "</p>", "> ", "- "]
    ),
)
_tags = st.builds("<{} {}>".format, _NAMES, _ATTRIBUTES)
markups = st.lists(st.one_of(_PIECES, _tags, st.builds("</{}>".format, _NAMES)), max_size=12).map(
    "".join
)
"""Markdown with HTML in it, broken or not."""

_PLAIN = "h1 h2 h3 h4 h5 h6 p em strong pre ul li blockquote hr br table thead tbody tr".split()
_ELEMENTS: Mapping[str, Mapping[str, str]] = {
    **{name: {} for name in _PLAIN},
    "ol": {"start": r"\d+"},
    "code": {"class": r"language-.*"},
    "th": {"class": r"(right|center)?"},
    "td": {"class": r"(right|center)?"},
}


def allowed_element(name: str, attributes: Mapping[str, str | None], files: str = "") -> bool:
    """Whether a README may have it; its links lead to files, parts, other sites or addresses."""
    if name == "a":
        return _allowed_link(attributes, files)
    known = _ELEMENTS.get(name)
    if known is None or not known.keys() >= attributes.keys():
        return False
    return all(
        re.fullmatch(known[key], value or "", re.DOTALL) for key, value in attributes.items()
    )


def _allowed_link(attributes: Mapping[str, str | None], files: str) -> bool:
    schemes = "|".join(["https?://", "mailto:", "#", *([re.escape(files)] if files else [])])
    href = attributes.get("href")
    return attributes.keys() <= {"href", "title", "rel"} and (
        not href or re.match(schemes, href, re.IGNORECASE) is not None
    )
