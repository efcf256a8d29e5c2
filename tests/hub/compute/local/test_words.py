"""The log of a pod, the variables that sh is told, and names of folders."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.local import folder
from prime_cli.hub.compute.local.folder import Plan, PodFolder, State, is_tag, tag_of_folder
from prime_cli.hub.compute.local.keeper.log import Log, last_lines
from prime_cli.hub.compute.local.laying import link_name
from prime_cli.hub.compute.local.sshd import config_text, find_sshd, session_text, version_of
from prime_cli.hub.compute.local.variables import require_sound
from prime_cli.wire import pods as wire

ROOT = Path(__file__).parents[4]
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=25, deadline=None)
@given(values=st.lists(VALUES, max_size=8))
def test_every_value_that_is_taken_arrives_through_sh(values: list[str]) -> None:
    variables = {f"V{index}": value for index, value in enumerate(values)}
    require_sound(variables)
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    done = subprocess.run(
        ["/bin/sh", "-c", session_text(variables)],
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


def test_the_log_keeps_its_last_lines_and_stays_small(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", most=1000)
    for number in range(500):
        log.add(f"line {number}")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2200
    lines = last_lines(log.path, 20).splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [f"line {n}" for n in range(480, 500)]
    assert last_lines(log.path, 0) == ""
    assert last_lines(tmp_path / "none", 5) == ""


def test_no_line_of_a_log_moves_the_terminal_or_is_two(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.add("\x1b[2Jcleared\nsecond\u2028third")
    assert last_lines(log.path, 9).count("\n") == 0
    assert "\x1b" not in last_lines(log.path, 9)


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    Log(tmp_path / "gone" / "log").add("line")
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=40))
def test_a_tag_is_a_name_of_a_folder_and_of_a_user(text: str) -> None:
    if is_tag(text):
        assert len(text) <= 32
        assert text.isascii()
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_a_folder_that_was_not_finished_is_known_by_its_tag() -> None:
    assert tag_of_folder("prime-a-b") == "prime-a-b"
    assert tag_of_folder(".prime-a-b.0123456789abcdef") == "prime-a-b"
    assert tag_of_folder(".prime-a-b.0123") is None
    assert tag_of_folder("disks") is None


@given(st.text(max_size=100), st.sets(st.sampled_from(["disk", "data"])))
def test_the_link_of_a_disk_is_a_plain_name_that_is_free(name: str, taken: set[str]) -> None:
    link = link_name(name, "0123456789", taken)
    assert link not in taken
    assert link
    assert "/" not in link
    assert not link.startswith((".", "-"))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_state_that_is_half_written_is_none(content: bytes, tmp_path: Path) -> None:
    pod = PodFolder(tmp_path)
    pod.state.write_bytes(content)
    assert pod.read_state() is None
    pod.write_state(State("ACTIVE", port=22))
    assert pod.read_state() == State("ACTIVE", port=22)


def test_a_keeper_needs_nothing_but_the_standard_library() -> None:
    """What is installed with prime may change while a pod lives."""
    script = (
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "import prime_cli.hub.compute.local.keeper.life\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names - sys.stdlib_module_names - {'__main__', 'prime_cli'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


def test_statuses_are_spelled_as_on_the_wire() -> None:
    for name in ("PROVISIONING", "ACTIVE", "DELETING", "ERROR"):
        assert getattr(folder, name) == getattr(wire, name)


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
    plan = Plan("prime-a", "id", 0.0, "::1", str(sshd), None)
    text = config_text(
        PodFolder(tmp_path), plan, version=version, login="ada", address="::1", port=22
    )
    assert ("PerSourcePenalties no\n" in text) == penalties
    assert "ListenAddress [::1]:22\n" in text
    assert "Subsystem" not in text


def test_without_sshd_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        find_sshd(str(tmp_path))
    assert "openssh-server" in str(raised.value.hint)
