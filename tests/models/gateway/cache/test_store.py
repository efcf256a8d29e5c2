"""The folder of kept answers."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.digests import digest_bytes
from prime_cli.models.gateway.cache.store import SCHEMA, Kept, ResponseStore


def kept(text: str) -> Kept:
    return Kept(schema=SCHEMA, model="m", content_type="application/json", body=text)


def store_in(folder: Path, most_bytes: int = 10_000) -> ResponseStore:
    return ResponseStore(folder, lambda content: content, most_bytes=most_bytes)


def key(number: int) -> str:
    return digest_bytes(str(number).encode())


def test_what_was_not_used_for_the_longest_time_is_dropped_first(tmp_path: Path) -> None:
    store = store_in(tmp_path, most_bytes=1_000_000)
    for number in range(10):
        store.put(key(number), kept("x" * 1000))
    for age, path in enumerate(tmp_path.rglob("*.json")):
        os.utime(path, (age, age))
    assert store.get(key(3)) is not None  # used now
    small = store_in(tmp_path, most_bytes=5000)
    small.prune()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.json")) <= 5000
    assert small.get(key(3)) is not None


def test_a_folder_with_room_is_left_as_it_is(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put(key(1), kept("hello"))
    store.prune()
    assert store.get(key(1)) == kept("hello")


def test_a_disk_that_cannot_be_written_is_told_and_stops_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = store_in(blocked)
    store.put(key(1), kept("hello"))
    assert store.trouble
    assert store.get(key(1)) is None


@given(text=st.text())
def test_every_answer_comes_back_as_it_was(text: str) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        store.put(key(0), kept(text))
        assert store.get(key(0)) == kept(text)
