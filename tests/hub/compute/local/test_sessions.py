"""What a login to a pod on this machine is given, and what goes through it."""

import json
import re
import shlex
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.provider import Mount
from prime_cli.hub.compute.sshd import require_variables
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.tools import needs

HARD = {
    "PLAIN": "word",
    "EMPTY": "",
    "SPACES": "  two  words ",
    "QUOTES": "it's \"so\" `id` $(id) \\ \\' '\\''",
    "LINES": "one\ntwo\n\n",
    "SIGNS": "a=b=c %h %% $HOME ${PATH} ~ * ? ! # ; & | < > ( ) [ ]",
    "LETTERS": "zażółć gęślą 雪 \U0001f600",
    "CONTROL": "\t\r\x01\x1b[31m\x7f",
    "DASHES": "--help",
    "LONG": "x" * 99_000,
    "_low9": "name",
}
PRINT_ALL = "python3 -c 'import os, json; print(json.dumps(dict(os.environ)))'"


def test_variables_of_any_content_arrive_exactly(here: Here) -> None:
    tag = here.up(variables=HARD)
    seen = json.loads(here.ssh(tag, PRINT_ALL).stdout)
    assert {name: seen[name] for name in HARD} == HARD
    assert seen["PRIME_POD_ID"] == f"id-of-{tag}"
    assert seen["HOME"] == str(here.folder(tag).home)


def test_no_value_of_a_variable_is_in_the_words_of_a_process_or_open_to_others(here: Here) -> None:
    tag = here.up(variables={"SECRET": "swordfish-in-a-pond"})
    seen = here.ssh(tag, "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' '").stdout
    assert "sshd" in seen
    assert "swordfish" not in seen
    for path in here.folder(tag).path.rglob("*"):
        assert path.is_symlink() or path.stat().st_mode & 0o077 == 0, path


def test_nothing_of_the_hub_comes_into_a_pod(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "pit_swordfish")
    tag = here.up()
    assert "swordfish" not in here.ssh(tag, "env").stdout
    marked = here.ssh(tag, "cat /proc/*/environ 2> /dev/null | tr '\\0' '\\n' | grep -c PRIME_POD")
    assert int(marked.stdout) > 0


@pytest.mark.parametrize(
    "name",
    [
        *"HOME USER SHELL LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV IFS SSH_AUTH_SOCK".split(),
        *"PRIME_POD_ID CUDA_VISIBLE_DEVICES BASH_FUNC_x%% a-b 1a A.B é".split(),
        *("", "A B", "A=B", "A\nB"),
    ],
)
def test_a_variable_that_a_pod_cannot_have_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"`{name}`")):
        require_variables({"GOOD": "1", name: "x"})


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "x" * 200_000])
def test_a_value_that_no_process_can_have_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="`A`"):
        require_variables({"A": value})


def test_a_command_ends_with_its_own_exit_code_and_reads_its_input(here: Here) -> None:
    tag = here.up()
    done = here.ssh(tag, "cat; echo oops >&2; exit 7", input="in\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "in\n", "oops\n")


def test_without_a_command_there_is_a_login_shell_at_home(here: Here) -> None:
    tag = here.up()
    done = here.ssh(tag, input="pwd; echo $0; exit 3\n")
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == str(here.folder(tag).home)


@needs("scp")
def test_scp_and_sftp_arrive_at_home(here: Here, tmp_path: Path) -> None:
    tag = here.up()
    (tmp_path / "a file").write_text("hello", encoding="utf-8")
    argv = ["scp", *here.options(tag, port="-P")]
    for there in ("", "~/second", "named it's"):
        words = [*argv, str(tmp_path / "a file"), f"{here.host(tag)}:{there}"]
        subprocess.run(words, check=True, timeout=120)
    home = here.folder(tag).home
    assert {path.name for path in home.glob("*") if path.name[0] != "."} == {
        "a file", "second", "named it's",
    }  # fmt: skip
    subprocess.run(
        ["sftp", "-b", "-", *here.options(tag, port="-P"), here.host(tag)],
        input=f"pwd\nget second {tmp_path / 'back'}\n".encode(),
        check=True,
        timeout=120,
    )
    assert (tmp_path / "back").read_text(encoding="utf-8") == "hello"


@needs("rsync")
def test_rsync_arrives_at_home(here: Here, tmp_path: Path) -> None:
    tag = here.up()
    (tmp_path / "f").write_text("hello", encoding="utf-8")
    way = shlex.join(["ssh", *here.options(tag)])
    argv = ["rsync", "-e", way, str(tmp_path / "f"), f"{here.host(tag)}:g"]
    subprocess.run(argv, check=True, timeout=120)
    assert (here.folder(tag).home / "g").read_text(encoding="utf-8") == "hello"


def test_a_port_of_loopback_can_be_reached_through_a_pod(here: Here) -> None:
    tag = here.up()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        local = free.getsockname()[1]
        free.close()
        answering = threading.Thread(target=_answer, args=(server,), daemon=True)
        answering.start()
        there = f"{local}:localhost:{server.getsockname()[1]}"
        argv = ["ssh", "-N", "-o", "ExitOnForwardFailure=yes", "-L", there]
        with subprocess.Popen([*argv, *here.options(tag), here.host(tag)]) as forwarding:
            try:
                assert wait_until(lambda: _read(local), what="an answer") == b"hello"
            finally:
                forwarding.terminate()
        answering.join(timeout=60)


def _answer(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"hello")


def _read(port: int) -> bytes | None:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            return connection.recv(5)
    except ConnectionRefusedError:
        return None


@pytest.mark.parametrize(
    "words",
    [["-R", "0:localhost:22"], ["-o", "User=nobody"], ["-o", "PubkeyAuthentication=no"]],
    ids=["remote forwarding", "another user", "no key"],
)
def test_what_a_pod_does_not_allow_is_refused(here: Here, words: list[str]) -> None:
    tag = here.up()
    argv = ["ssh", *words, "-o", "ExitOnForwardFailure=yes", *here.options(tag)]
    address = here.host(tag).rpartition("@")[2]
    done = subprocess.run([*argv, address, "true"], capture_output=True, timeout=120, check=False)
    assert done.returncode == 255


def test_a_pod_in_a_folder_with_an_odd_name_works(tmp_path: Path, key: Path) -> None:
    here = Here(tmp_path / 'it\'s 100% "odd" \\ #1 żółw', key)
    try:
        tag = here.up(variables={"A": "b"})
        assert here.ssh(tag, "echo $A; pwd").stdout == f"b\n{here.folder(tag).home}\n"
    finally:
        here.close()
    assert list(here.provider.folder.iterdir()) == []


def test_a_disk_outlives_its_pods_and_is_in_the_home_of_each_by_its_name(here: Here) -> None:
    here.provider.make_disk("prime-disk-1", 1)
    here.provider.make_disk("prime-disk-2", 1)
    disks = (
        Mount("11111111", "data", "prime-disk-1"),
        Mount("22222222", "../../etc", "prime-disk-2"),
    )
    tag = here.up(disks=disks)
    assert sorted(here.ssh(tag, "ls").stdout.split()) == ["data", "etc"]
    here.ssh(tag, "echo kept > data/f")
    here.provider.end(tag)
    second = here.up(disks=disks[:1])
    assert here.ssh(second, "cat data/f").stdout == "kept\n"
    here.provider.end(second)
    assert here.provider.list_disk_tags("prime-") == ["prime-disk-1", "prime-disk-2"]
    assert here.provider.list_tags("") == []
    for disk in ("prime-disk-1", "prime-disk-2"):
        here.provider.remove_disk(disk)
    assert here.provider.list_disk_tags("") == []
