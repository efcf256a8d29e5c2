"""Of a pod that ended nothing is kept, and of others everything."""

from pathlib import Path

import pytest

from prime_cli.core.errors import IntegrityError
from prime_cli.pods.ssh.blocks import Block, format_blocks, read_blocks
from prime_cli.pods.ssh.files import SshFiles
from prime_cli.pods.ssh.forgetting import KnownPod, forget_pod, known_pods

BLOCKS = [
    Block("one", "https://hub.example.org", ("Host prime-a one", "    HostName 192.0.2.1")),
    Block("two", "http://hub.local", ("Host prime-b two", "    HostName 192.0.2.2")),
]


@pytest.fixture
def files(home: Path) -> SshFiles:
    files = SshFiles(home / ".prime")
    files.all_known_hosts.mkdir(parents=True)
    for pod_id in ("one", "two", "three"):
        files.known_hosts(pod_id).write_text(f"prime-pod-{pod_id} ssh-ed25519 AAAA\n")
    files.config.write_bytes(format_blocks(BLOCKS))
    return files


def test_what_is_written_is_read_again(files: SshFiles) -> None:
    assert read_blocks(files.config) == BLOCKS
    assert BLOCKS[0].hosts == {"prime-a", "one"}


def test_a_forgotten_pod_takes_its_aliases_and_host_keys_with_it(files: SshFiles) -> None:
    assert forget_pod(files.home, "one")
    assert read_blocks(files.config) == BLOCKS[1:]
    assert not files.known_hosts("one").exists()
    assert files.known_hosts("two").exists()
    assert not forget_pod(files.home, "one")


def test_a_home_without_pods_has_nothing_to_forget(home: Path) -> None:
    assert not forget_pod(home / ".prime", "one")
    assert known_pods(home / ".prime") == []
    assert not (home / ".prime").exists()


def test_pods_are_known_with_the_hub_that_can_tell_whether_they_are_there(files: SshFiles) -> None:
    assert sorted(known_pods(files.home), key=str) == [
        KnownPod("one", "https://hub.example.org"),
        KnownPod("three", None),
        KnownPod("two", "http://hub.local"),
    ]


def test_no_id_leads_out_of_the_folder(files: SshFiles) -> None:
    with pytest.raises(IntegrityError):
        forget_pod(files.home, "../config")
