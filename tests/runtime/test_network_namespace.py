"""What an environment reaches in a network namespace: its gateway, and itself."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.runtime.network_namespace import NetworkNamespace, find_namespace
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.tools import needs_bubblewrap
from tests.helpers.unix_sockets import unix_socket_of
from tests.runtime.worker.runs import Said, run_worker, small_spec

pytestmark = needs_bubblewrap


@pytest.fixture
def judge() -> Iterator[int]:
    """The port of another server of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def run_within(folder: Path, *, only_gateway: bool, **args: object) -> Said:
    namespace, why = find_namespace()
    assert isinstance(namespace, NetworkNamespace), why
    path = folder / "g.sock"
    with ScriptedModel() as model, unix_socket_of(model, path):
        spec = small_spec(
            model,
            "judged_elsewhere",
            n=2,
            args=args,
            socket=str(path),
            only_gateway=only_gateway,
            has_network=False,
        )
        said = run_worker(spec, folder / "w.log", walls=namespace.with_socket(path))
    assert said.ended.ok, said.ended
    return said


def test_programs_that_the_environment_starts_have_no_network_either(
    tmp_path: Path, judge: int
) -> None:
    said = run_within(tmp_path, only_gateway=False, by="program", port=judge)
    assert said.rewards == {(0, 0): 0.0, (1, 0): 0.0}


def test_servers_of_its_own_are_reached(tmp_path: Path) -> None:
    said = run_within(tmp_path, only_gateway=True, by="own")
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}
    assert said.network == []


def test_a_server_of_the_machine_is_told_and_its_rollouts_are_errors(
    tmp_path: Path, judge: int
) -> None:
    said = run_within(tmp_path, only_gateway=True, by="socket", host="localhost", port=judge)
    assert [(each.host, each.port, each.refused) for each in said.network] == [
        ("localhost", judge, True)
    ]
    errors = [row.error for row in said.rollouts]
    assert [error and error.type for error in errors] == ["HostRefused", "HostRefused"]
