import asyncio
import tempfile
from pathlib import Path

import pytest
from starlette.responses import StreamingResponse

from prime_cli.runs.saved_run import open_run
from prime_cli.web.downloads import download
from tests.runs.rows import row
from tests.runs.saving import save_run


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("form", ["csv", "html", "parquet"])
def test_a_file_stays_until_it_is_sent(tmp_path: Path, temporary: Path, form: str) -> None:
    """Windows removes no file that is open, nor its folder."""
    answer = download(open_run(save_run(tmp_path, row(0)).path), form)
    assert isinstance(answer, StreamingResponse)
    assert len(list(temporary.glob(f"*/*.{form}"))) == 1

    async def send() -> list[bytes]:
        return [each async for each in answer.body_iterator if isinstance(each, bytes)]

    assert b"".join(asyncio.run(send()))
    assert list(temporary.iterdir()) == []
