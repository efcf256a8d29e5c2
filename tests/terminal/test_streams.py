"""Readers that leave, files that are full, descriptors that are closed."""

import errno
import io
import os

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.terminal.streams import Stream


class Failing(io.StringIO):
    """A stream whose device answers with an error."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise OSError(self.code, "told by the system")


@pytest.mark.parametrize("code", [errno.EPIPE, errno.EINVAL, errno.EIO])
def test_a_closed_pipe_is_not_a_failure(code: int) -> None:
    target = Failing(code)
    stream = Stream(target)
    stream.write("one")
    stream.write("two")
    assert target.tries == 1


def test_a_full_disk_is_reported() -> None:
    with pytest.raises(StorageFailed, match="The output could not be written"):
        Stream(Failing(errno.ENOSPC)).write("text")


def test_a_closed_descriptor_takes_everything() -> None:
    Stream(None).write("text")
    closed = io.StringIO()
    closed.close()
    Stream(closed).write("text")


@pytest.mark.skipif(os.name != "posix", reason="Windows tells of a lost reader only at a write")
def test_a_pipe_whose_reader_has_left_is_known_before_anything_is_written() -> None:
    reader, writer = os.pipe()
    with io.TextIOWrapper(io.FileIO(writer, "w"), encoding="utf-8") as target:
        stream = Stream(target)
        assert stream.has_reader()
        os.close(reader)
        assert not stream.has_reader()


def test_a_pipe_has_a_reader_until_it_is_closed() -> None:
    target = io.StringIO()
    assert Stream(target).has_reader()
    target.close()
    assert not Stream(target).has_reader()
    assert not Stream(None).has_reader()
