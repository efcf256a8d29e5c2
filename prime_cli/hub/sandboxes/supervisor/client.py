"""How a hub talks to its supervisor of sandboxes, and starts it.

Services block, in a command and in the threads of a served hub. What the gateway relays blocks only
in a command.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from prime_cli.core.errors import PrimeError, StorageFailed, Unreachable, UsageError
from prime_cli.core.file_locks import locked, take_lock
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.supervisor.connections import (
    Body,
    KeptConnections,
    UnixConnection,
    finish,
)
from prime_cli.hub.sandboxes.supervisor.protocol import (
    CheckRequest,
    CheckResult,
    CreateRequest,
    EndRequest,
    Log,
    NetworkChange,
    ObservedState,
    Orphans,
    SupervisorPaths,
    leading_variables,
)
from prime_cli.hub.supervisors import SYSTEM_PATH, last_lines, start_supervisor
from prime_cli.runtime.isolation.cgroups import scope_words
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.problems import Problem, to_error

T = TypeVar("T")

_MAIN = Path(__file__).with_name("main.py")
_BEGIN_SECONDS = 30.0
_SAID = 20
_PAUSE = 0.01
_SECONDS = 150.0
_ERRORS = 400
_FEW = 100
"""Tags that fit into the line of a request; for more it is asked for all."""


@dataclass(frozen=True)
class Supervisor:
    """The supervisor of the hub with the folder `data`; started by what needs it.

    `blocks` is whether no event loop waits where requests are relayed.
    """

    data: Path
    blocks: bool = True
    _kept: KeptConnections = field(default_factory=KeptConnections, repr=False, compare=False)
    _relayed: KeptConnections = field(default_factory=KeptConnections, repr=False, compare=False)

    @property
    def paths(self) -> SupervisorPaths:
        """Its files."""
        return SupervisorPaths(self.data.absolute() / "sandboxes")

    # --- Sandboxes; each raises Unreachable if it does not answer ---

    def check(self, providers: Iterable[str], spec: SandboxSpec) -> CheckResult:
        """The first provider that can make it; raises UsageError with the reason of the last."""
        ask = CheckRequest(list(providers), spec, leading_variables())
        found = self._ask("POST", "/check", CheckResult, ask)
        if found.is_ending:
            self._wait_for_end()
            found = self._ask("POST", "/check", CheckResult, ask)
        return found

    def create(self, provider: str, spec: SandboxSpec, seconds: float) -> ObservedState:
        """Start a sandbox; waits for up to `seconds` until it runs."""
        creation = CreateRequest(provider, spec, seconds, leading_variables())
        return self._ask("POST", "/sandboxes", ObservedState, creation)

    def list_states(self, tags: Iterable[str]) -> dict[str, ObservedState]:
        """The state of each of these that it holds or that has ended; never starts it."""
        wanted = list(tags)
        query = f"?tags={','.join(wanted)}" if len(wanted) <= _FEW else ""
        found: dict[str, ObservedState] = {}
        with suppress(Unreachable):
            kind = dict[str, ObservedState]
            found = self._ask("GET", f"/sandboxes{query}", kind, start=False)
        return found | self._ended(tag for tag in wanted if tag not in found)

    def end(self, tag: str, why: EndRequest) -> ObservedState | None:
        """End a sandbox; None if it is not held."""
        try:
            return self._ask("POST", f"/sandboxes/{tag}/end", ObservedState, why, start=False)
        except Unreachable:
            if self.is_alive:
                raise
            return None

    def change_network(self, tag: str, change: NetworkChange) -> ObservedState:
        """Have a sandbox reach something else; raises NotFound, Conflict, UsageError."""
        path = f"/sandboxes/{tag}/network"
        return self._ask("PUT", path, ObservedState, change, start=False)

    def log(self, tag: str) -> str:
        """The output of its start command."""
        with storage_errors(self.paths.folder), suppress(FileNotFoundError):
            return (self.paths.folder / f"{tag}.log").read_text("utf-8", "replace")
        if not self.is_alive:
            return ""
        return self._ask("GET", f"/sandboxes/{tag}/log", Log, start=False).log

    def stop(self) -> None:
        """End every sandbox, and the supervisor; returns when it has ended."""
        if self.is_alive:
            self._ask("POST", "/stop", dict[str, str], start=False)
            self._wait_for_end()

    def list_orphans(self, prefix: str, providers: Iterable[str]) -> Orphans:
        """The tags that these providers hold anything under."""
        return self._ask("GET", f"/found?prefix={prefix}&providers={','.join(providers)}", Orphans)

    def remove(self, provider: str, tag: str) -> None:
        """Remove what a provider has under a tag that is not held."""
        self._ask("DELETE", f"/found/{provider}/{tag}", dict[str, str])

    def forget(self, tag: str) -> None:
        """Remove what is kept of a sandbox that ended."""
        for name in (f"{tag}.json", f"{tag}.log"):
            with storage_errors(self.paths.folder):
                (self.paths.folder / name).unlink(missing_ok=True)

    def kept_tags(self, prefix: str) -> list[str]:
        """The tags of which a file is kept."""
        with storage_errors(self.paths.folder), suppress(FileNotFoundError):
            files = sorted(self.paths.folder.iterdir())
            return sorted({each.stem for each in files if each.name.startswith(prefix)})
        return []

    # --- Connections ---

    async def relay(
        self, method: str, path: str, headers: Mapping[str, str], body: Body
    ) -> UnixConnection:
        """The connection with the answer to a request of the gateway; raises Unreachable.

        Release it with `end_relay`. The caller limits how long the command takes.
        """
        taken = self._relayed.take()
        connection = taken or UnixConnection(self.paths.socket, blocks=self.blocks)
        await connection.ask(method, path, headers, body)
        return connection

    def end_relay(self, connection: UnixConnection) -> None:
        """Release a connection, which is kept if the whole answer was read."""
        self._relayed.put(connection)

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        lock = take_lock(self.paths.lock, is_shared=True)
        if lock is not None:
            os.close(lock)
        return lock is None and self.paths.lock.exists()

    def start(self) -> None:
        """Start it unless it runs. Raises StorageFailed, UsageError on Windows."""
        if sys.platform == "win32":
            raise UsageError(
                "Your own sandboxes need Linux or macOS",
                hint="use a hub that is served by a machine with Linux: `prime login --hub URL`",
            )
        if self.is_alive and self._listens():
            return
        make_folder(self.paths.folder)
        with locked(self.paths.folder / "starting", seconds=_BEGIN_SECONDS):
            deadline = time.monotonic() + _BEGIN_SECONDS
            # One that is ending holds the lock, and so does for a moment who asks for its state.
            while not self._listens():
                lock = take_lock(self.paths.lock, is_new=True)
                if lock is not None:
                    self._spawn(lock)
                    self._wait()
                    return
                if time.monotonic() > deadline:
                    raise StorageFailed("The supervisor of sandboxes neither answers nor ends")
                time.sleep(_PAUSE)

    def _connect(self, *, start: bool) -> UnixConnection:
        """A new connection, having started it if nobody listens; raises Unreachable."""
        try:
            return UnixConnection(self.paths.socket, _SECONDS)
        except Unreachable:
            if not start:
                raise
        self.start()
        return UnixConnection(self.paths.socket, _SECONDS)

    def _spawn(self, lock: int) -> None:
        # What leads to an engine, uv and a cluster.
        environ = {"PATH": os.environ.get("PATH", SYSTEM_PATH)}
        environ |= {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
        environ |= leading_variables()
        for path in (self.paths.socket, self.paths.log):
            path.unlink(missing_ok=True)
        start_supervisor(
            "sandboxes",
            _MAIN,
            self.paths.folder,
            lock,
            log=self.paths.log,
            environ=environ,
            seconds=_BEGIN_SECONDS,
            # There it can limit what bubblewrap's sandboxes take.
            within=scope_words(environ),
        )

    def _wait(self) -> None:
        deadline = time.monotonic() + _BEGIN_SECONDS
        while not self._listens():
            if time.monotonic() > deadline or not self.is_alive:
                raise StorageFailed(
                    "The supervisor of sandboxes ended at once",
                    detail=last_lines(self.paths.log, _SAID) or None,
                )
            time.sleep(_PAUSE)

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while self.is_alive:
            if time.monotonic() > deadline:
                raise StorageFailed("The supervisor of sandboxes does not end")
            time.sleep(_PAUSE)

    def _listens(self) -> bool:
        """Whether it takes connections: the socket is there a moment before that."""
        with suppress(Unreachable), closing(UnixConnection(self.paths.socket, _SECONDS)):
            return self.is_alive
        return False

    def _ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: msgspec.Struct | None = None,
        *,
        start: bool = True,
    ) -> T:
        """The answer to a request; from one that it may `start` for that.

        Raises Unreachable, what `start` raises, and what the supervisor says.
        """
        connection = self._kept.take() or self._connect(start=start)
        finish(connection.ask(method, path, body=b"" if body is None else encode(body)))
        try:
            answer = finish(connection.read())
        finally:
            self._kept.put(connection)
        if connection.status >= _ERRORS:
            raise read_problem(connection.status, answer)
        return decode(answer, kind)

    def _ended(self, tags: Iterable[str]) -> dict[str, ObservedState]:
        found: dict[str, ObservedState] = {}
        for tag in tags:
            with storage_errors(self.paths.folder), suppress(FileNotFoundError, PrimeError):
                kept = (self.paths.folder / f"{tag}.json").read_bytes()
                found[tag] = decode(kept, ObservedState)
        return found


_PASSED = (
    "HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "PRIME_HOME",
    "DBUS_SESSION_BUS_ADDRESS", "COVERAGE_PROCESS_START", "TMPDIR",
)  # fmt: skip


def read_problem(status: int, content: bytes) -> PrimeError:
    """The error that the supervisor raised."""
    try:
        problem = decode(content, Problem)
    except UsageError:
        problem = Problem(detail=f"The supervisor of sandboxes answered {status}")
    return to_error(status, problem.detail, problem.code, problem.hint)
