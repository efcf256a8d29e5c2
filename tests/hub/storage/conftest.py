from collections.abc import Callable
from pathlib import Path

import pytest

from prime_cli.hub.storage import Storage, open_storage
from tests.helpers.s3 import BUCKET, S3Server, s3_server

__all__ = ["s3_server"]

Keep = Callable[[bytes], str]


@pytest.fixture(params=["files", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty storage of each kind."""
    if request.param == "files":
        return open_storage(tmp_path / "blobs")
    server: S3Server = request.getfixturevalue("s3_server")
    return open_storage(f"s3://{BUCKET}/tests/{tmp_path.name}", server.environ)
