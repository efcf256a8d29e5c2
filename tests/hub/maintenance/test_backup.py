import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict, IntegrityError
from prime_cli.core.progress import Silent
from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.maintenance.backup import write_backup
from prime_cli.hub.maintenance.restore import read_backup
from prime_cli.hub.services.artifacts import forget_blobs, hold_blobs, release_blobs
from prime_cli.hub.services.key_management import issue_key, revoke_key
from prime_cli.hub.services.keys import find_caller
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data, names, open_app, settings_for


def open_data(folder: Path) -> Hub:
    return open_hub(settings_for(folder))


@pytest.fixture
def backup(folder: Path, tmp_path: Path) -> Path:
    """The backup of a hub with two environments, one of them private."""
    client = open_app(folder)
    Push(client, "word").run()
    Push(client, "word", version="0.2.0", code="x = 2").run()
    Push(client, "secret", visibility="PRIVATE").run()
    target = tmp_path / "hub.tar"
    write_backup(open_data(folder), target, Silent())
    return target


def rewrite(
    source: Path, target: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]
) -> Path:
    """A copy of a backup, each member changed or left out."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for member in old:
            file = old.extractfile(member)
            assert file is not None
            if changed := change(member.name, file.read()):
                name, content = changed
                info = tarfile.TarInfo(name)
                info.size = len(content)
                new.addfile(info, BytesIO(content))
    return target


def test_restored_hub_answers_as_the_old_one(folder: Path, backup: Path, tmp_path: Path) -> None:
    read_backup(open_data(tmp_path / "new"), backup, Silent())
    old, new = open_app(folder), open_app(tmp_path / "new")
    assert sorted(names(new)) == ["secret", "word"]
    for address in ("ada/word/@latest", "ada/word/versions", "ada/secret/@0.1.0"):
        was, now = (data(client.get(f"{HUB}/{address}")) for client in (old, new))
        for detail in (was, now):
            # The files for installers lie below each hub's own data.
            detail.pop("simple_index_url", None)
        assert now == was
    wheel = data(new.get(f"{HUB}/ada/word/@0.1.0"))["wheel_url"]
    assert new.get(wheel).content == old.get(wheel).content


def test_restored_hub_continues(backup: Path, tmp_path: Path) -> None:
    read_backup(open_data(tmp_path / "new"), backup, Silent())
    client = open_app(tmp_path / "new")
    Push(client, "word", version="0.3.0", code="x = 3").run()
    assert data(client.get(f"{HUB}/ada/word/@latest"))["semantic_version"] == "0.3.0"


def test_hub_that_has_something_is_not_overwritten(folder: Path, backup: Path) -> None:
    with pytest.raises(Conflict, match="already has users"):
        read_backup(open_data(folder), backup, Silent())


@pytest.mark.parametrize("wanted", ["blobs/", "tables/versions", "hub.json"])
def test_damaged_backup_restores_nothing(backup: Path, tmp_path: Path, wanted: str) -> None:
    def damage(name: str, content: bytes) -> tuple[str, bytes]:
        return name, b"x" + content if name.startswith(wanted) else content

    broken = rewrite(backup, tmp_path / "broken.tar", damage)
    with pytest.raises(IntegrityError, match="damaged"):
        read_backup(open_data(tmp_path / "new"), broken, Silent())
    assert names(open_app(tmp_path / "new")) == []


@pytest.mark.parametrize("name", ["blobs/../../escape", "tables/owners.jsonl", "evil"])
def test_member_that_is_out_of_place_is_refused(backup: Path, tmp_path: Path, name: str) -> None:
    def rename(member: str, content: bytes) -> tuple[str, bytes]:
        return (name if member.startswith("blobs/") else member), content

    broken = rewrite(backup, tmp_path / "broken.tar", rename)
    with pytest.raises(IntegrityError):
        read_backup(open_data(tmp_path / "new"), broken, Silent())
    assert not (tmp_path / "escape").exists()


def test_backup_that_lacks_a_blob_is_refused(backup: Path, tmp_path: Path) -> None:
    left_out: list[str] = []

    def drop(name: str, content: bytes) -> tuple[str, bytes] | None:
        if name.startswith("blobs/") and not left_out:
            left_out.append(name)
            return None
        return name, content

    broken = rewrite(backup, tmp_path / "broken.tar", drop)
    with pytest.raises(IntegrityError, match="damaged"):
        read_backup(open_data(tmp_path / "new"), broken, Silent())


def test_file_that_is_not_a_backup_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.tar").write_text("not a backup")
    with pytest.raises(IntegrityError, match=r"`notes\.tar` is not a backup"):
        read_backup(open_data(tmp_path / "new"), tmp_path / "notes.tar", Silent())


def test_blobs_stay_while_a_backup_holds_them(folder: Path) -> None:
    client = open_app(folder)
    push = Push(client).run()
    hub = open_data(folder)
    digest = data(client.get(f"{HUB}/ada/word/@latest"))["wheel_sha256"]
    hold_blobs(hub)
    client.delete(f"{HUB}/ada/word").raise_for_status()
    with hub.storage.open(digest) as blob:
        assert blob.read() == push.wheel
    release_blobs(hub)
    forget_blobs(hub, [digest])
    assert hub.storage.size(digest) is None


def test_backup_leaves_no_hold(folder: Path, backup: Path) -> None:
    client = open_app(folder)
    digest = data(client.get(f"{HUB}/ada/word/@latest"))["wheel_sha256"]
    client.delete(f"{HUB}/ada/word").raise_for_status()
    assert open_data(folder).storage.size(digest) is None


def test_restored_keys_keep_their_parents_in_any_order(
    accounts_hub: AccountsHub, tmp_path: Path
) -> None:
    accounts_hub.user("ada")
    root = issue_key(accounts_hub.hub, OPERATOR, "ada", scope="admin")
    made = [issue_key(accounts_hub.hub, accounts_hub.caller(root.key), "ada") for _ in range(8)]
    write_backup(accounts_hub.hub, tmp_path / "keys.tar", Silent())
    restored = AccountsHub(tmp_path / "new")
    read_backup(restored.hub, tmp_path / "keys.tar", Silent())
    assert len(revoke_key(restored.hub, OPERATOR, root.id)) == 1 + len(made)
    assert not any(find_caller(restored.hub, each.key) for each in made)
