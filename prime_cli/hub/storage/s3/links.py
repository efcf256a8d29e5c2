"""Presigned addresses that also say under which name the answer is saved.

The S3 client signs an address, but takes no further query parameters. With them in it, the address
is signed again (AWS Signature Version 4, "Authenticating Requests: Using Query Parameters").
"""

import hashlib
import hmac
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit


def sign_again(url: str, secret: str, parameters: dict[str, str]) -> str:
    """The presigned GET `url` with further query `parameters`, signed with the same secret key."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | parameters
    query.pop("X-Amz-Signature", None)
    canonical = "&".join(f"{_quoted(name)}={_quoted(query[name])}" for name in sorted(query))
    request = (
        f"GET\n{parts.path}\n{canonical}\nhost:{parts.netloc}\n\n"
        f"{query['X-Amz-SignedHeaders']}\nUNSIGNED-PAYLOAD"
    )
    scope = query["X-Amz-Credential"].partition("/")[2]
    to_sign = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            query["X-Amz-Date"],
            scope,
            hashlib.sha256(request.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    signed = f"{canonical}&X-Amz-Signature={signature}"
    return urlunsplit((parts.scheme, parts.netloc, parts.path, signed, ""))


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
