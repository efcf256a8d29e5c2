"""Where the hub's tests keep blobs: in files, or with PRIME_TEST_STORAGE=s3 in a bucket."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.hub.storage import Storage, open_storage
from prime_cli.hub.storage.files import FileStorage
from tests.helpers.s3 import BUCKET, aws_variables, run_s3

ON_S3 = os.environ.get("PRIME_TEST_STORAGE") == "s3"

_ENDPOINT = "PRIME_TEST_S3_URL"

files_only = pytest.mark.skipif(ON_S3, reason="it is about the files on the disk")
"""Marks tests of the blobs' files, and of the `file://` index that is made of them."""


def storage_for(data: Path) -> Storage | None:
    """What HubSettings takes as the storage of the hub whose data is in `data`."""
    return storage_of(data) if ON_S3 else None


def storage_of(data: Path) -> Storage:
    """The storage of that hub, to look into it or to lose what it holds."""
    if not ON_S3:
        return FileStorage(data / "blobs")
    prefix = hashlib.sha256(os.fsencode(data.absolute())).hexdigest()[:16]
    return open_storage(f"s3://{BUCKET}/{prefix}", aws_variables(os.environ[_ENDPOINT]))


def blobs_of(data: Path) -> list[str]:
    """The digests that the hub keeps."""
    return sorted(blob.digest for blob in storage_of(data).list())


@pytest.fixture(scope="session", autouse=ON_S3)
def blob_storage() -> Iterator[None]:
    """The S3 server of this run, if it needs one; child processes find it by its variable."""
    if not ON_S3 or _ENDPOINT in os.environ:
        yield
        return
    with run_s3() as server:
        os.environ[_ENDPOINT] = server.url
        yield
        del os.environ[_ENDPOINT]
