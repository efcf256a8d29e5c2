"""The machines of a training: who is admitted, and what is told to whom."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict, EngineFailed, NotFound
from prime_cli.core.progress import Silent
from prime_cli.training.nodes import FirstNode, Nodes, keep_alive, read_waiting
from prime_cli.wire.rollouts import NodeJoin, NodeLine

FACTS = {"nodes": "2", "trl": "1.16"}
URL = "http://127.0.0.1:1/v1"


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(FirstNode("127.0.0.1"), 2, FACTS, tmp_path, Silent())


def asking(folder: Path, **facts: str) -> NodeJoin:
    return NodeJoin(host="b", facts={"folder": str(folder), **FACTS, **facts})


def test_how_to_join_is_a_file_of_the_users_alone_while_the_training_waits(
    nodes: Nodes, tmp_path: Path
) -> None:
    with nodes.waiting(URL, "secret"):
        assert read_waiting(tmp_path).token == "secret"
        assert (tmp_path / "nodes.json").stat().st_mode & 0o077 == 0
    with pytest.raises(NotFound, match="No training waits for nodes"):
        read_waiting(tmp_path)


def test_a_node_gets_its_number_when_all_are_there_and_the_end_at_the_end(
    nodes: Nodes, tmp_path: Path
) -> None:
    async def run() -> list[NodeLine]:
        number = nodes.admit(asking(tmp_path))
        await nodes.gathered(1)
        lines = nodes.lines(number)
        first = await anext(lines)
        nodes.end()
        return [first, *[line async for line in lines]]

    assert asyncio.run(run()) == [NodeLine(number=1), NodeLine(ended=True)]
    assert nodes.failure is None


def test_a_node_that_differs_ends_the_training(nodes: Nodes, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match=r"b differs from the first node: trl 1\.15, not 1\.16"):
        nodes.admit(asking(tmp_path, trl="1.15"))
    with pytest.raises(Conflict, match="b differs"):
        asyncio.run(nodes.gathered(1))


def test_nodes_that_do_not_come_end_the_training(nodes: Nodes) -> None:
    with pytest.raises(EngineFailed, match="1 of 2 nodes have come within"):
        asyncio.run(nodes.gathered(0.01))


def test_a_node_that_leaves_early_is_named(nodes: Nodes, tmp_path: Path) -> None:
    async def run() -> None:
        lines = nodes.lines(nodes.admit(asking(tmp_path)))
        await anext(lines)
        await lines.aclose()

    asyncio.run(run())
    assert nodes.failure is not None
    assert nodes.failure.message == "Node 2 of the 2 that train, b, has gone"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have fewer of these options")
def test_the_kernel_ends_a_silent_connection_to_a_machine_that_is_gone() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        keep_alive(connection)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        asked_after, gone_after = (
            connection.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_KEEPIDLE", "TCP_USER_TIMEOUT")
        )
        assert asked_after < gone_after / 1000 <= 60
