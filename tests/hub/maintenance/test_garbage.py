from datetime import timedelta
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict
from prime_cli.core.progress import Silent
from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.maintenance.garbage import collect_garbage, find_garbage
from prime_cli.hub.services.artifacts import hold_blobs
from prime_cli.hub.settings import utc_now
from tests.hub.pushing import HUB, Push, data, open_app, settings_for, sha256


def open_later(folder: Path, **time: float) -> Hub:
    """The hub's data, some time from now."""
    return open_hub(settings_for(folder, clock=lambda: utc_now() + timedelta(**time)))


def add_orphan(hub: Hub, folder: Path, content: bytes = b"nobody's") -> str:
    path = folder / "orphan"
    path.write_bytes(content)
    hub.storage.put(path, sha256(content))
    return sha256(content)


def test_blob_without_a_name_is_deleted_and_others_stay(folder: Path, tmp_path: Path) -> None:
    push = Push(open_app(folder)).run()
    later = open_later(folder, hours=2)
    orphan = add_orphan(later, tmp_path)
    assert find_garbage(later, Silent()).blobs == 1
    garbage = collect_garbage(later, Silent())
    assert (garbage.blobs, garbage.bytes) == (1, len(b"nobody's"))
    assert later.storage.size(orphan) is None
    assert later.storage.size(sha256(push.wheel)) == len(push.wheel)


def test_blob_of_the_last_hour_is_left_alone(folder: Path, tmp_path: Path) -> None:
    now = open_later(folder)
    orphan = add_orphan(now, tmp_path)
    assert collect_garbage(now, Silent()).blobs == 0
    assert now.storage.size(orphan) is not None


def test_version_that_was_never_finalized_goes_with_its_bytes(folder: Path) -> None:
    push = Push(open_app(folder))
    push.begin()
    push.push_wheel()
    later = open_later(folder, days=3)
    garbage = collect_garbage(later, Silent())
    assert garbage.artifacts == 1
    assert later.storage.size(sha256(push.wheel)) is None


def test_garbage_waits_for_a_backup(folder: Path, tmp_path: Path) -> None:
    later = open_later(folder, hours=2)
    orphan = add_orphan(later, tmp_path)
    hold_blobs(later)
    with pytest.raises(Conflict, match="backup"):
        collect_garbage(later, Silent())
    assert later.storage.size(orphan) is not None


def test_hub_serves_what_was_published_after_a_collection(folder: Path) -> None:
    client = open_app(folder)
    push = Push(client).run()
    collect_garbage(open_later(folder, days=30), Silent())
    assert (
        client.get(data(client.get(f"{HUB}/ada/word/@latest"))["wheel_url"]).content == push.wheel
    )
