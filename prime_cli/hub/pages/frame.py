"""What all pages share: the frame around their content, and headers that keep them harmless."""

import hashlib
from base64 import b64encode
from html import escape

from starlette.responses import Response

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 0 auto; padding: 1rem;
  color: #1a1a1a; background: #fff }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-bottom: 2rem }
a { color: #1a5fb4 }
h1 { font-size: 1.6rem; overflow-wrap: anywhere }
h2, .readme h1 { font-size: 1.2rem; margin-top: 2rem }
.code { font: 600 1.8rem/1.4 ui-monospace, monospace; letter-spacing: .15em }
label { display: block; margin: 1rem 0 .3rem }
input { font: inherit; width: 100%; padding: .5rem; box-sizing: border-box }
button { font: inherit; padding: .5rem 1.2rem; margin: 1rem .5rem 0 0 }
.wide { max-width: 64rem }
/* A table that is too wide is moved sideways, and the page stays. */
.table { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
td, th { border-bottom: 1px solid #8884; padding: .35rem .6rem; text-align: left;
  vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
pre, code { font: .9em/1.5 ui-monospace, monospace }
pre { background: #8881; padding: .8rem; overflow-x: auto; white-space: pre-wrap }
td pre { margin: 0; min-width: 12rem; overflow-wrap: anywhere }
.readme { border: 1px solid #8884; padding: 0 1rem; overflow-x: auto }
.faint { color: #6b6b6b }
svg { max-width: 100%; height: auto }
rect { fill: #4a7dc4 }
.problem { border-left: 4px solid #b00020; padding: .2rem .8rem }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #111 } a { color: #8ab4f8 } .faint { color: #aaa }
}
"""

_LINKS = (
    '<nav><a href="/">Environments</a><a href="/dashboard/tokens/challenge">Log in a client</a>'
    '<a href="/docs">API</a></nav>'
)
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With `no-referrer` browsers would send forms with the origin `null`.
    "referrer-policy": "same-origin",
}


def page(title: str, body: str, status: int = 200, *, wide: bool = False) -> Response:
    """A whole page; `title` is plain text and `body` is HTML."""
    width = ' class="wide"' if wide else ""
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body{width}>{_LINKS}<main><h1>{escape(title)}</h1>\n{body}</main></body></html>\n"
    )
    return Response(text, status, headers=_HEADERS, media_type="text/html")
