"""What a user leaves goes with it, in folders that look like a system's and on this machine."""

import os
import pwd
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.compute.local.leftovers import (
    System,
    allow_manager,
    forbid_manager,
    remove_leftovers,
    stop_manager,
)
from prime_cli.hub.compute.local.system import SYSTEM_PATH
from prime_cli.hub.compute.local.users import find_user
from tests.helpers.local_pods import Here
from tests.helpers.tools import needs_root

NAME, UID, OTHER = "prime-a", 54321, 54322


def _file(path: Path, owner: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("left", encoding="utf-8")
    os.chown(path, owner, owner)
    return path


@needs_root
@pytest.mark.parametrize(
    ("place", "owner"),
    [
        ("var/lib/systemd/linger/prime-a", 0),
        ("var/spool/cron/crontabs/prime-a", UID),
        ("var/spool/cron/prime-a", 0),
        ("var/spool/cron/atjobs/a0000101c5e3f2", UID),
        ("var/spool/at/a0000101c5e3f2", UID),
        ("var/mail/prime-a", UID),
        ("tmp/open/to/all/and/deep", UID),
        ("var/tmp/f", UID),
        ("dev/shm/sem.f", UID),
        ("run/lock/f", UID),
        ("run/user/54321/bus", UID),
    ],
)
def test_what_a_user_has_anywhere_goes_and_what_others_have_stays(
    tmp_path: Path, place: str, owner: int
) -> None:
    left = _file(tmp_path / place, owner)
    others = _file(left.with_name("prime-b"), OTHER)
    remove_leftovers(NAME, UID, System(tmp_path))
    assert not left.exists()
    assert others.exists()
    remove_leftovers(NAME, UID, System(tmp_path))


@needs_root
def test_a_link_of_a_user_goes_and_not_what_it_leads_to(tmp_path: Path) -> None:
    others = _file(tmp_path / "srv/f", OTHER)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/link").symlink_to(tmp_path / "srv")
    os.lchown(tmp_path / "tmp/link", UID, UID)
    (tmp_path / "var").mkdir()
    (tmp_path / "var/mail").symlink_to("spool/mail")
    mail = _file(tmp_path / "var/spool/mail/prime-a", UID)
    remove_leftovers(NAME, UID, System(tmp_path))
    assert not os.path.lexists(tmp_path / "tmp/link")
    assert not mail.exists()
    assert others.exists()


@needs_root
def test_what_cannot_be_removed_is_told_and_keeps_the_number_taken(tmp_path: Path) -> None:
    _file(tmp_path / "tmp/f", UID)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rm").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "bin/rm").chmod(0o755)
    with pytest.raises(StorageFailed, match=r"has left .*/tmp/f"):
        remove_leftovers(NAME, UID, System(tmp_path, f"{tmp_path / 'bin'}:{SYSTEM_PATH}"))


def test_systemd_runs_nothing_for_a_user_where_it_runs_the_machine(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    control = tmp_path / "bin" / "systemctl"
    control.parent.mkdir()
    control.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n', encoding="utf-8")
    control.chmod(0o755)
    system = System(tmp_path, f"{control.parent}:{SYSTEM_PATH}")
    linger = tmp_path / "var/lib/systemd/linger/prime-a"
    linger.parent.mkdir(parents=True)
    linger.touch()
    assert forbid_manager(NAME, UID, system)
    assert not asked.exists()
    units = tmp_path / "run/systemd/system"
    units.mkdir(parents=True)
    assert forbid_manager(NAME, UID, system)
    assert not linger.exists()
    stop_manager(NAME, UID, system)
    allow_manager(UID, system)
    (units / f"user@{UID}.service").symlink_to("/dev/null")
    allow_manager(UID, system)
    stop = f"--quiet stop user@{UID}.service user-runtime-dir@{UID}.service"
    assert asked.read_text(encoding="utf-8").splitlines() == [
        f"--quiet mask --runtime user@{UID}.service",
        stop,
        stop,
        f"--quiet unmask --runtime user@{UID}.service",
    ]


def test_a_system_that_does_not_answer_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    stop_manager(NAME, UID, System(tmp_path, str(tmp_path)))
    assert not forbid_manager(NAME, UID, System(tmp_path, str(tmp_path)))


def test_files_that_a_pod_left_among_those_of_others_go_with_its_user(
    for_others: Here,
) -> None:
    shared = Path("/tmp") / f"open-{for_others.key.parent.name}-{os.getpid()}"
    place = shared / "a" / "b" / "c"
    place.mkdir(parents=True)
    place.chmod(0o777)
    try:
        tag = for_others.up()
        made = for_others.ssh(tag, f"touch {place}/f /dev/shm/{tag} && mkdir /var/tmp/{tag}")
        assert made.returncode == 0, made
        user = find_user(tag)
        assert user is not None
        assert (place / "f").stat().st_uid == user.uid
        for_others.provider.end(tag)
        assert list(place.iterdir()) == []
        assert not Path(f"/dev/shm/{tag}").exists()
        assert not Path(f"/var/tmp/{tag}").exists()
        with pytest.raises(KeyError):
            pwd.getpwuid(user.uid)
    finally:
        place.rmdir()
        for folder in (shared / "a" / "b", shared / "a", shared):
            folder.rmdir()
