"""What is said of a bucket's location, and what its addresses hold."""

import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import S3Store

from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.hub.storage import open_storage
from prime_cli.hub.storage.s3 import sign_again
from tests.helpers.s3 import BUCKET, S3Server, aws_variables

if TYPE_CHECKING:
    from obstore.store import S3Config

DIGEST = "ab" + "0" * 62


@pytest.mark.parametrize(
    "location", ["s3://", "s3:///prefix", "s3://UPPER", "s3://ab", "s3://bucket/a b", "s3://b@host"]
)
def test_location_that_is_not_a_bucket_is_refused(location: str) -> None:
    with pytest.raises(UsageError, match="is not a valid bucket"):
        open_storage(location, aws_variables("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    "endpoint",
    ["127.0.0.1:9000", "http://", "ftp://host", "http://[", "http://h:99999", "http://h?"],
)
def test_an_endpoint_that_is_not_an_address_is_refused(endpoint: str) -> None:
    with pytest.raises(UsageError, match="AWS_ENDPOINT_URL"):
        open_storage("s3://bucket", aws_variables(endpoint))


def test_bucket_that_does_not_exist_is_named(s3_server: S3Server, tmp_path: Path) -> None:
    storage = open_storage("s3://no-such-bucket/prefix", s3_server.environ)
    incoming = tmp_path / "incoming"
    incoming.write_bytes(b"word")
    with pytest.raises(StorageFailed, match="There is no bucket no-such-bucket"):
        storage.put(incoming, DIGEST)
    assert incoming.exists()
    with pytest.raises(StorageFailed, match="There is no bucket no-such-bucket"):
        list(storage.list())


def test_prefixes_do_not_see_each_other(s3_server: S3Server, tmp_path: Path) -> None:
    first = open_storage(f"s3://{BUCKET}/hubs/one/", s3_server.environ)
    for other in ("hubs/on", "hubs", "two"):
        incoming = tmp_path / "incoming"
        incoming.write_bytes(b"word")
        open_storage(f"s3://{BUCKET}/{other}", s3_server.environ).put(incoming, DIGEST)
    assert first.size(DIGEST) is None
    assert list(first.list()) == []


def test_link_is_good_for_anybody_and_names_the_file(s3_server: S3Server, tmp_path: Path) -> None:
    storage = open_storage(f"s3://{BUCKET}/links", s3_server.environ)
    (tmp_path / "incoming").write_bytes(b"word")
    storage.put(tmp_path / "incoming", DIGEST)
    link = storage.link(DIGEST, 'we"ird\r\nSet-Cookie: x.whl', 60)
    assert link is not None
    assert s3_server.environ["AWS_SECRET_ACCESS_KEY"] not in link
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"word"
        assert "Set-Cookie" not in answer.headers
        assert 'filename="we_ird__Set-Cookie__x.whl"' in answer.headers["Content-Disposition"]


@pytest.mark.parametrize("token", [None, "session/token+="])
def test_link_is_signed_as_the_client_signs(token: str | None) -> None:
    """Without further parameters, it is the client's own signature again."""
    store = S3Store("bucket", config=config_of(token))
    url = obstore.sign(store, "GET", "ab/c d", timedelta(seconds=60))
    again = sign_again(url, "secret", {})
    assert sorted(again.split("&")) == sorted(url.split("&"))
    other = sign_again(url, "other", {})
    assert sorted(other.split("&")) != sorted(url.split("&"))


def config_of(token: str | None) -> "S3Config":
    keys: S3Config = {"access_key_id": "id", "secret_access_key": "secret"}
    return keys if token is None else keys | {"session_token": token}
