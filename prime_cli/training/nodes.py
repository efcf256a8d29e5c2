"""The machines that train one model together, as the first of them knows them.

The first node plans, evaluates, serves rollouts and writes checkpoints. All must see the folder of
the training: the others find there how to ask the first one, and their engines how to meet. Each of
the others holds a request open until the training ends, which tells both sides when one is gone;
the kernel asks a machine that says nothing whether it is there.

Slurm says which of them this one is.
"""

import asyncio
import hashlib
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from prime_cli import __version__
from prime_cli.core.errors import Conflict, EngineFailed, NotFound, PrimeError, UsageError
from prime_cli.core.formatting import format_duration, pluralize
from prime_cli.core.http import is_loopback
from prime_cli.core.paths import write_atomically
from prime_cli.core.progress import Progress
from prime_cli.training.engines.catalogue import TrainingEngine
from prime_cli.training.engines.launch import installed_versions
from prime_cli.wire.rollouts import NodeJoin, NodeLine

WAITING = "nodes.json"
_SECONDS_OF_SILENCE = 3.0
_KEEPALIVE = {
    "TCP_KEEPIDLE": 10,
    "TCP_KEEPALIVE": 10,  # the same on macOS
    "TCP_KEEPINTVL": 10,
    "TCP_USER_TIMEOUT": 60_000,
}
"""A machine that is cut off is noticed after a minute, whether or not something was sent to it."""


@dataclass(frozen=True)
class SlurmTask:
    """Task `rank` of the `count` that `srun` started; all have the same `job`.

    The other machines know this one by its `host`.
    """

    rank: int
    count: int
    job: str
    host: str

    def mark(self, trainings: Path) -> Path:
        """The file in which the first one names the folder of the training to the others."""
        return trainings / f".nodes-{self.job}.json"


def find_task(environ: Mapping[str, str], nodes: int) -> SlurmTask | None:
    """The task that this process is; None if `srun` did not start it.

    Raises UsageError unless there is one on each of the `nodes`. A script of `sbatch` is no task:
    it has a job, and no step.
    """
    if "SLURM_STEP_ID" not in environ or "SLURM_PROCID" not in environ:
        return None
    once = f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`"
    try:
        task = SlurmTask(
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
            f"{environ['SLURM_JOB_ID']}.{environ['SLURM_STEP_ID']}",
            environ.get("SLURMD_NODENAME") or socket.gethostname(),
        )
    except (KeyError, ValueError) as error:
        raise UsageError(f"Slurm's variables are incomplete: {error}", hint=once) from error
    if task.count != nodes:
        raise UsageError(
            f"Slurm started prime {task.count} times, and `--nodes {nodes}` needs {nodes}, one on "
            "each machine",
            hint=once,
        )
    return task


def address_of(asked: str | None, task: SlurmTask | None, nodes: int) -> str:
    """The IPv4 address by which the other machines reach this one; raises UsageError.

    That `asked` for, which may be a name, else that of the host by which Slurm knows it.
    """
    if asked is None and task is None:
        in_slurm = "SLURM_JOB_ID" in os.environ
        by_slurm = f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`, or "
        raise UsageError(
            f"`--nodes {nodes}` needs the address by which the other machines reach this one",
            hint=f"{by_slurm if in_slurm else ''}`--address ADDRESS`, of a private network",
        )
    name = asked or (task.host if task else "")
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            one.bind((found, 0))
    except OSError as error:
        raise UsageError(
            f"`{name}` is no IPv4 address of this machine: {error.strerror or error}",
            hint="`--address ADDRESS`: see `ip -4 address`",
        ) from error
    if asked is None and str(found).startswith("127."):
        raise UsageError(
            f"This machine's name `{name}` leads to {found}, which no other machine reaches",
            hint="`--address ADDRESS`: see `ip -4 address`",
        )
    return str(found)


class Rendezvous(msgspec.Struct, frozen=True):
    """nodes.json: how the others ask the first node, and the file where their engines meet."""

    url: str
    token: str
    meeting: str

    @property
    def place(self) -> tuple[str, int]:
        """The host and the port of the first node."""
        where = urlsplit(self.url)
        return where.hostname or "", where.port or 0


@dataclass(frozen=True)
class FirstNode:
    """What makes this node the first: its address for the others, and the file that names the
    folder of the training to those that Slurm started.
    """

    address: str
    mark: Path | None = None


def read_waiting(folder: Path) -> Rendezvous:
    """How to join the training in `folder`; raises NotFound."""
    try:
        return msgspec.json.decode((folder / WAITING).read_bytes(), type=Rendezvous)
    except (OSError, msgspec.MsgspecError) as error:
        raise NotFound(
            f"No training waits for nodes in {folder}",
            hint="start the first node before, in a folder that all machines see",
        ) from error


def keep_alive(connection: socket.socket) -> None:
    """Let the kernel close the connection once the machine at its other end is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def facts_of_node(engine: TrainingEngine, python: Path, nodes: int) -> dict[str, str]:
    """What must be the same on every node, by what it is called in sentences."""
    digest = hashlib.sha256()
    for path in sorted(engine.entry.parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return {
        "nodes": str(nodes),
        "prime": __version__,
        f"files of {engine.title}": digest.hexdigest()[:12],
        **installed_versions(engine, python),
    }


class Nodes:
    """The other nodes of a training of `count`, which must have the same `facts` as this one."""

    def __init__(
        self,
        first: FirstNode,
        count: int,
        facts: Mapping[str, str],
        folder: Path,
        progress: Progress,
    ) -> None:
        self.first = first
        self.meeting = folder / f".meeting-{secrets.token_hex(4)}"
        self._count, self._facts = count, facts
        self._folder, self._progress = folder, progress
        self._hosts: list[str] = []
        self._has_ended = False
        self._changed = asyncio.Event()
        self.failure: PrimeError | None = None

    @contextmanager
    def waiting(self, url: str, token: str) -> Iterator[None]:
        """Inside, others can join; raises StorageFailed."""
        files = [self._folder / WAITING, self.meeting]
        waiting = Rendezvous(url, token, str(self.meeting))
        write_atomically(files[0], msgspec.json.encode(waiting), mode=0o600)
        if (mark := self.first.mark) is not None:
            files.append(mark)
            write_atomically(mark, msgspec.json.encode(str(self._folder)), mode=0o600)
        self._progress.say(
            f"Waiting for {pluralize(self._count - 1, 'other node')}; on each of them: "
            f"`prime train --join {self._folder}`"
        )
        if not is_loopback(url):
            self._progress.say(
                "What the nodes say to each other is not encrypted, and gradients have no key: "
                f"{self.first.address} must be on a private network"
            )
        try:
            yield
        finally:
            for path in files:
                with suppress(OSError):
                    path.unlink()

    async def gathered(self, seconds: float) -> None:
        """Wait until all have joined; raises why they cannot, EngineFailed after so long."""
        await self._until(self._is_decided, seconds)
        if self.failure is None and not self._is_full():
            self.failure = EngineFailed(
                f"{len(self._hosts) + 1} of {self._count} nodes have come within "
                f"{format_duration(seconds)}",
                hint=f"`prime train --join {self._folder}` on the others; `--stall SPAN` waits "
                "longer",
            )
        if self.failure is not None:
            raise self.failure

    def _is_full(self) -> bool:
        return len(self._hosts) == self._count - 1

    def _is_decided(self) -> bool:
        return self._is_full() or self.failure is not None

    async def _until(self, is_so: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait until that is so, or for so many `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()

    def _fail(self, failure: PrimeError) -> None:
        self.failure = self.failure or failure
        self._changed.set()

    def admit(self, node: NodeJoin) -> int:
        """The number of a node that asks to join; raises Conflict, which also ends the training."""
        if self._is_full():
            raise Conflict(f"All {self._count} nodes of this training are there already")
        own = {"folder": str(self._folder.resolve()), **self._facts}
        for name in own.keys() | node.facts.keys():
            here, there = own.get(name, "none"), node.facts.get(name, "none")
            if here != there:
                refusal = Conflict(
                    f"{node.host} differs from the first node: {name} {there}, not {here}",
                    hint="install the same prime and packages on all nodes, which see the same "
                    "folders by the same paths",
                )
                self._fail(refusal)
                raise refusal
        self._hosts.append(node.host)
        number = len(self._hosts)
        self._progress.say(f"{node.host} has joined: {number + 1} of {self._count} nodes")
        self._changed.set()
        return number

    async def lines(self, number: int) -> AsyncGenerator[NodeLine, None]:
        """What a node is told; its failure if that is left before the training has ended."""
        try:
            await self._until(self._is_decided)
            if self.failure is None:
                yield NodeLine(number=number)
                await self._until(lambda: self._has_ended)
                yield NodeLine(ended=True)
        finally:
            if not self._has_ended:
                self._fail(self._gone(number))

    def _gone(self, number: int) -> PrimeError:
        host = self._hosts[number - 1]
        return EngineFailed(
            f"Node {number + 1} of the {self._count} that train, {host}, has gone",
            hint="see what it says there; then `prime train --resume`",
        )

    async def explain(self) -> None:
        """Wait a moment for word of another node that has gone, since this one's engine failed."""
        await self._until(lambda: self.failure is not None, _SECONDS_OF_SILENCE)

    def end(self) -> None:
        """Tell all that the training has ended as it should."""
        self._has_ended = True
        self._changed.set()


def require_nodes(nodes: Nodes | None) -> Nodes:
    """The nodes of a training; raises UsageError if it has one alone."""
    if nodes is None:
        raise UsageError("This training has a single node", hint="`prime train … --nodes N`")
    return nodes
