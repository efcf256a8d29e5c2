import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.serving.access_log import AccessLog, LogEntry, LogFormat, now_text, safe_path
from prime_cli.hub.tokens import new_key


def entry(path: str = "/a", **fields: object) -> LogEntry:
    plain = {
        "time": now_text(0),
        "method": "GET",
        "path": path,
        "status": 200,
        "ms": 1.5,
        "bytes": 3,
        "address": "192.0.2.7",
        "request_id": "r1",
    }
    return LogEntry(**{**plain, **fields})  # type: ignore[arg-type]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        os.close(descriptor)


def test_line_is_json_with_what_was_asked_and_answered(pipe: tuple[int, int]) -> None:
    log = AccessLog(LogFormat.JSON, pipe[1])
    log.add(entry(user="ada", key_id="key_1"))
    log.flush()
    line = os.read(pipe[0], 1000)
    assert line.endswith(b"}\n")
    assert msgspec.json.decode(line) == {
        "time": "1970-01-01T00:00:00.000Z",
        "method": "GET",
        "path": "/a",
        "status": 200,
        "ms": 1.5,
        "bytes": 3,
        "address": "192.0.2.7",
        "request_id": "r1",
        "user": "ada",
        "key_id": "key_1",
    }


def test_lines_are_gathered_until_they_are_flushed(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    log = AccessLog(LogFormat.TEXT, pipe[1])
    log.add(entry())
    log.add(entry())
    assert _read(pipe[0]) == b""
    log.flush()
    assert _read(pipe[0]).count(b"\n") == 2


def test_unread_lines_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        log = AccessLog(LogFormat.JSON, file.fileno())
        for _ in range(10):
            log.add(entry("/" + "x" * 1024 * 1024))
        log.flush()
    lines = path.read_bytes().splitlines()
    assert len(lines) == 8
    assert msgspec.json.decode(lines[-1])["lost_lines"] == 3


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1_000_000)
    except BlockingIOError:
        return b""


def test_no_log_is_no_log(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    log = AccessLog(LogFormat.NONE, pipe[1])
    log.add(entry())
    log.flush()
    assert _read(pipe[0]) == b""


def test_reader_that_went_away_stops_nothing() -> None:
    read, write = os.pipe()
    os.close(read)
    log = AccessLog(LogFormat.JSON, write)
    log.add(entry())
    log.flush()
    os.close(write)


def test_paths_lose_what_opens_something() -> None:
    key = new_key()
    assert safe_path("/upload/s3cret") == "/upload/-"
    assert safe_path("/upload/s3cret/more") == "/upload/-/more"
    assert safe_path(f"/x/{key}/y") == "/x/-/y"
    assert safe_path("/join/prime_inv_s3cret") == "/join/-"
    assert safe_path("/api/v1/environmentshub") == "/api/v1/environmentshub"


@given(st.text(alphabet=st.characters()), st.sampled_from([LogFormat.JSON, LogFormat.TEXT]))
def test_any_path_is_one_line(path: str, style: LogFormat) -> None:
    log = AccessLog(style)
    log.add(entry("/" + path))
    lines = bytes(log._lines)
    assert lines.count(b"\n") == 1
    assert re.search(rb"[\x00-\x09\x0b-\x1f]", lines) is None
