"""Blobs as objects: `<prefix>/<first two letters>/<sha256>` in one bucket."""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

import obstore
from obstore.store import S3Store

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.hub.headers import attachment
from prime_cli.hub.storage import StoredBlob
from prime_cli.hub.storage.s3_objects import bucket_errors, bucket_failure, open_ranges

# --- Presigned URLs ---
# The S3 client signs a URL but accepts no further query parameters. With them added, the URL is
# signed again (AWS Signature Version 4, "Authenticating Requests: Using Query Parameters").


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


# --- The bucket ---

if TYPE_CHECKING:
    # Not there at run time.
    from obstore.store import S3Config

_LOCATION = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([A-Za-z0-9._/-]*))?")
_ENDPOINT = re.compile(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(?:/[A-Za-z0-9._/-]*)?"
)
_LAST_PORT = 65535
_DIGEST = re.compile(r"[0-9a-f]{64}")

# The smallest that S3 takes, as a part that fails is sent again; 10,000 of them are 50 GB.
_PART_BYTES = 5 * 1024 * 1024
_PARTS_AT_ONCE = 4


_VARIABLES = {
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "access_key_id": ("AWS_ACCESS_KEY_ID",),
    "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
    "session_token": ("AWS_SESSION_TOKEN",),
}


class S3Storage:
    """Storage in the bucket of `store`, below its prefix; `bucket` is its name in messages."""

    def __init__(self, store: S3Store, bucket: str) -> None:
        self._store = store
        self._bucket = bucket

    def put(self, path: Path, digest: str) -> None:
        """Upload the file, in parts when it is large: the object appears when the last has come."""
        with bucket_errors(self._bucket):
            try:
                obstore.put(
                    self._store,
                    _key(digest),
                    path,
                    chunk_size=_PART_BYTES,
                    max_concurrency=_PARTS_AT_ONCE,
                )
            except FileNotFoundError as error:
                self._require_put(path, digest, str(error))
        with storage_errors(path):
            path.unlink()

    def _require_put(self, path: Path, digest: str, message: str) -> None:
        """What is not found is the bucket, or the upload when its end was asked for again because
        the first answer was lost or late: then the object is there.
        """
        with storage_errors(path):
            expected = path.stat().st_size
        if self.size(digest) != expected:
            raise bucket_failure(self._bucket, message) from None

    def open(self, digest: str) -> BinaryIO:
        """A reader that fetches ranges of the object; raises NotFound when there is none."""
        size = self.size(digest)
        if size is None:
            raise NotFound(f"The hub has no blob with SHA-256 {digest}")

        def fetch(start: int, stop: int) -> memoryview:
            try:
                with bucket_errors(self._bucket):
                    block = obstore.get_range(self._store, _key(digest), start=start, end=stop)
            except FileNotFoundError:
                raise NotFound(f"The blob with SHA-256 {digest} was deleted") from None
            return memoryview(block)

        return open_ranges(fetch, size)

    def size(self, digest: str) -> int | None:
        """The object's size in bytes, or None when there is none."""
        with bucket_errors(self._bucket):
            try:
                return obstore.head(self._store, _key(digest))["size"]
            except FileNotFoundError:
                return None

    def list(self) -> Iterator[StoredBlob]:
        """Every object below the prefix that is named by a digest, a page at a time."""
        with bucket_errors(self._bucket):
            for page in obstore.list(self._store, chunk_size=1000):
                for meta in page:
                    digest = meta["path"].rpartition("/")[2]
                    if meta["path"] == _key(digest) and _DIGEST.fullmatch(digest):
                        yield StoredBlob(digest, meta["last_modified"])

    def delete(self, digest: str) -> None:
        """Delete the object; stores differ in whether they say that it was not there."""
        with bucket_errors(self._bucket):
            try:
                obstore.delete(self._store, _key(digest))
            except FileNotFoundError:
                return

    def local_path(self, digest: str) -> Path | None:
        """None: an object is no file of this machine."""
        return None

    def link(self, digest: str, filename: str, seconds: int) -> str | None:
        """A presigned address; it says the file's name when the keys are in the environment.

        With the keys of a role, only the S3 client knows the secret, and signs without the name.
        """
        with bucket_errors(self._bucket):
            url = obstore.sign(self._store, "GET", _key(digest), timedelta(seconds=seconds))
        secret = self._store.config.get("secret_access_key")
        if secret is None:
            return url
        return sign_again(url, secret, {"response-content-disposition": attachment(filename)})


@dataclass(frozen=True)
class Patience:
    """How long to wait for a bucket, in seconds, and how often to retry.

    One request is 5 MiB at most, so an object store may be as slow as 0.7 MB/s.
    """

    connect: float = 5
    request: float = 30
    retries: int = 3


def open_bucket(
    location: str, environ: Mapping[str, str], patience: Patience | None = None
) -> S3Storage:
    """The storage at `s3://bucket/prefix`; without accessing the bucket yet.

    AWS_ENDPOINT_URL may name another store than Amazon's, and is the only way to plain HTTP.
    Raises UsageError when the location cannot be understood.
    """
    match = _LOCATION.fullmatch(location)
    if match is None:
        raise UsageError(
            f"`{location}` is not a valid bucket: use a name of 3 to 63 lowercase letters, "
            "digits, `.` and `-`, and a prefix of letters, digits, `.`, `_`, `-` and `/`",
            hint="write it as s3://bucket/prefix",
        )
    bucket, prefix = match.groups()
    patience = patience or Patience()
    config = _config(environ)
    endpoint = _checked_endpoint(config.get("endpoint"))
    store = S3Store(
        bucket,
        prefix=(prefix or "").strip("/") or None,
        config=config,
        client_options={
            "allow_http": endpoint is not None and endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=patience.connect),
            "timeout": timedelta(seconds=patience.request),
        },
        retry_config={
            "max_retries": patience.retries,
            "retry_timeout": timedelta(seconds=patience.request),
        },
    )
    return S3Storage(store, bucket)


def _config(environ: Mapping[str, str]) -> "S3Config":
    """The store's settings in `environ`; for missing ones the S3 client has defaults."""
    found = {
        name: value
        for name, variables in _VARIABLES.items()
        if (value := next(filter(None, map(environ.get, variables)), None))
    }
    # One DELETE per object: not all compatible stores support the bulk request.
    return {**found, "disable_bulk_delete": True}  # type: ignore[typeddict-item]


def _checked_endpoint(endpoint: str | None) -> str | None:
    """The endpoint as it is; the S3 client would panic at the first request to a bad one."""
    if endpoint is not None:
        match = _ENDPOINT.fullmatch(endpoint)
        if match is None or int(match[1] or 0) > _LAST_PORT:
            raise UsageError(
                "AWS_ENDPOINT_URL is not the URL of an object store",
                hint="write it as https://host or http://host:port",
            )
    return endpoint


def _key(digest: str) -> str:
    return f"{digest[:2]}/{digest}"
