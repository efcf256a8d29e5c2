"""The end of a log, the variables that sh is told, and names of folders."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.local.folder import PodFolder, State, tag_of_folder
from prime_cli.hub.compute.provider import Mount
from prime_cli.hub.compute.sshd import (
    config_text,
    find_sshd,
    is_tag,
    link_names,
    require_variables,
    session_script,
    version_of,
)
from prime_cli.hub.supervisors import last_lines

VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=25, deadline=None)
@given(values=st.lists(VALUES, max_size=8))
def test_every_value_that_is_taken_arrives_through_sh(values: list[str]) -> None:
    variables = {f"V{index}": value for index, value in enumerate(values)}
    require_variables(variables)
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    done = subprocess.run(
        ["/bin/sh", "-c", session_script(variables)],
        env={
            "HOME": "/",
            "SHELL": "/bin/sh",
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "SSH_ORIGINAL_COMMAND": f"python3 -c '{script}'",
        },
        capture_output=True,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert {name: seen[name] for name in variables} == variables


def test_the_end_of_a_log_is_reported(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("".join(f"line {number}\n" for number in range(500)), "utf-8")
    assert last_lines(tmp_path / "log", 2) == "line 498\nline 499"
    assert last_lines(tmp_path / "log", 0) == ""
    assert last_lines(tmp_path / "none", 5) == ""


@given(st.text(max_size=40))
def test_a_tag_is_a_name_of_a_folder_and_of_a_container(text: str) -> None:
    if is_tag(text):
        assert len(text) <= 46
        assert text.isascii()
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_a_folder_that_was_not_finished_is_known_by_its_tag() -> None:
    assert tag_of_folder("prime-a-b") == "prime-a-b"
    assert tag_of_folder(".prime-a-b.0123456789abcdef") == "prime-a-b"
    assert tag_of_folder(".prime-a-b.0123") is None
    assert tag_of_folder("disks") is None


@given(st.lists(st.text(max_size=100), max_size=4))
def test_the_link_of_a_disk_is_a_plain_name_that_is_free(names: list[str]) -> None:
    disks = [Mount(f"{n:08}", name, f"prime-{n}") for n, name in enumerate([*names, "disk"])]
    links = link_names(disks)
    assert len(set(links.values())) == len(disks)
    for link in links.values():
        assert link
        assert "/" not in link
        assert not link.startswith((".", "-"))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_half_written_state_is_ignored(content: bytes, tmp_path: Path) -> None:
    pod = PodFolder(tmp_path)
    (tmp_path / "state.json").write_bytes(content)
    assert pod.read_state() is None
    pod.change_state(status="ACTIVE", port=22)
    assert pod.read_state() == State("ACTIVE", port=22)


@pytest.mark.parametrize(
    ("said", "version", "penalties"),
    [
        ("OpenSSH_8.4p1 Debian-5, OpenSSL 1.1.1w", (8, 4), False),
        ("OpenSSH_9.7p1", (9, 7), False),
        ("OpenSSH_9.8p1", (9, 8), True),
        ("OpenSSH_10.0p2 Debian-7", (10, 0), True),
        ("something else", (0, 0), False),
    ],
)
def test_failed_logins_shut_nobody_out_where_sshd_would(
    said: str, version: tuple[int, int], penalties: bool, tmp_path: Path
) -> None:
    sshd = tmp_path / "sshd"
    sshd.write_text(f"#!/bin/sh\necho '{said}' >&2; exit 1\n", encoding="utf-8")
    sshd.chmod(0o755)
    assert version_of(str(sshd)) == version
    text = config_text(
        tmp_path, login="ada", address="[::1]:22", variables={"A": "b"}, version=version
    )
    assert ("PerSourcePenalties no\n" in text) == penalties
    assert "ListenAddress [::1]:22\n" in text
    assert "Subsystem" not in text


def test_without_sshd_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        find_sshd(str(tmp_path))
    assert "openssh-server" in str(raised.value.hint)
