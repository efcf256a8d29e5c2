import asyncio
import os
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.runtime.worker_log import (
    LARGEST_LOG,
    LONGEST_PRINT,
    OnPrint,
    WorkerLog,
    last_shown,
    slow_words,
)


def hide(line: bytes) -> bytes:
    return line.replace(b"sk-planted", b"[KEY]")


async def print_into(path: Path, *parts: bytes, on_print: OnPrint | None = None) -> WorkerLog:
    log = WorkerLog(path, hide, on_print)
    await log.open()
    for part in parts:
        await asyncio.to_thread(os.write, log.descriptor, part)
    await log.close()
    return log


def test_a_secret_is_gone_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run" / "worker.log"
    asyncio.run(print_into(path, b"key sk-pla", b"nted used\n", b"last words sk-planted"))
    assert path.read_bytes() == b"key [KEY] used\nlast words [KEY]"


def test_what_was_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_bytes(b"before\n")
    asyncio.run(print_into(path, b"after\n"))
    assert path.read_bytes() == b"before\nafter\n"


def test_a_line_without_an_end_is_written_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    endless = b"x" * (3 * LONGEST_PRINT)
    asyncio.run(print_into(path, endless))
    assert path.read_bytes() == endless


@pytest.mark.parametrize("before", range(LONGEST_PRINT - 12, LONGEST_PRINT + 2, 3))
def test_a_secret_across_two_parts_of_an_endless_line_is_gone(tmp_path: Path, before: int) -> None:
    path = tmp_path / "worker.log"
    asyncio.run(print_into(path, b"x" * before + b"sk-planted" + b"y" * LONGEST_PRINT))
    assert path.read_bytes() == b"x" * before + b"[KEY]" + b"y" * LONGEST_PRINT


def test_of_endless_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    lines = b"".join(b"%015d\n" % n for n in range(LONGEST_PRINT // 16))
    parts = (lines,) * (2 * LARGEST_LOG // LONGEST_PRINT)
    asyncio.run(print_into(path, *parts, b"the last line\n"))
    begin, said, end = path.read_bytes().partition(b"\n[prime: ")
    assert begin == (lines * (LARGEST_LOG // LONGEST_PRINT))
    assert b"bytes of output are left out]\n" in said + end
    assert end.endswith(b"the last line\n")
    assert len(said + end) < 1 << 17


def test_a_log_that_is_full_stays_so_when_a_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    with path.open("wb") as file:
        file.truncate(LARGEST_LOG)
    asyncio.run(print_into(path, b"x" * LONGEST_PRINT, b"\nthe last line\n"))
    assert path.stat().st_size < LARGEST_LOG + (1 << 17)
    assert path.read_bytes().endswith(b"the last line\n")


def test_a_log_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        asyncio.run(print_into(tmp_path))


def test_a_full_disk_does_not_stop_the_one_who_prints() -> None:
    asyncio.run(print_into(Path("/dev/full"), b"x" * LONGEST_PRINT, b"more\n"))


def test_lines_are_shown_as_a_terminal_would_show_them(tmp_path: Path) -> None:
    shown: list[str] = []
    printed = (
        b"\x1b[31mred\x1b[0m\n\n  \n",
        b"key sk-pla",
        b"nted\n10 %\r50 %\r\x1b]0;title\x07all\n\xff",
    )
    log = asyncio.run(print_into(tmp_path / "worker.log", *printed, on_print=shown.append))
    assert shown == ["red", "key [KEY]", "all", "\ufffd"]
    assert log.last == "\ufffd"


def test_the_last_print_may_not_have_ended_and_holds_no_secret(tmp_path: Path) -> None:
    log = asyncio.run(print_into(tmp_path / "worker.log", b"first\n\n", b"1/3\r2/3 sk-planted"))
    assert log.last == "2/3 [KEY]"
    assert asyncio.run(print_into(tmp_path / "worker.log", b"first\n \n")).last == "first"
    assert not asyncio.run(print_into(tmp_path / "worker.log", b"")).last


@pytest.mark.parametrize(
    ("seconds", "printed", "words"),
    [
        (9.9, "Fetching", ""),
        (12.3, "\x1b[1mFetching\x1b[0m 2/17\rFetching 3/17\n\n", "12s so far: Fetching 3/17"),
        (75.0, "", "1m 15s so far: it prints nothing"),
    ],
)
def test_what_takes_long_says_what_was_printed_last(
    seconds: float, printed: str, words: str
) -> None:
    assert slow_words(seconds, last_shown(printed)) == words
