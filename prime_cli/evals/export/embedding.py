"""Data inside an HTML page, of which no byte can end its element or begin another."""

import base64
import zlib

_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    # Line ends in scripts of before 2019.
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def data_element(name: str, content: bytes, *, many: bool = False) -> bytes:
    """A `<script type="application/json">` that holds the JSON `content`.

    `name` is its id, or its class where there are `many` of them. Browsers never run a script of
    this type; in JSON the escaped characters mean the same.
    """
    escaped = content.decode().translate(_ESCAPES).encode()
    mark = f'{"class" if many else "id"}="{name}"'.encode()
    return b'<script type="application/json" ' + mark + b">" + escaped + b"</script>\n"


def pack(lines: list[bytes]) -> bytes:
    """JSON lines as a JSON string: base64 of zlib's format (RFC 1950), one line after another."""
    return b'"' + base64.b64encode(zlib.compress(b"\n".join(lines))) + b'"'
