"""The sandboxes of a supervisor: each is made, watched, ended, and remembered for a while."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import psutil

from prime_cli.core.errors import Conflict, ImagePullFailed, NotFound, PrimeError, UsageError
from prime_cli.core.formatting import format_duration
from prime_cli.core.paths import write_atomically
from prime_cli.hub.sandboxes.output import merged
from prime_cli.hub.sandboxes.provider import (
    ChangeableNetwork,
    ExecSpec,
    RunningSandbox,
    SandboxProvider,
    SandboxSpec,
)
from prime_cli.hub.sandboxes.supervisor.protocol import NetworkChange, ObservedState
from prime_cli.hub.sandboxes.supervisor.start_queue import StartQueue, StartSlot
from prime_cli.wire.sandboxes import (
    ENDED,
    ERROR,
    IMAGE_PULL_FAILED,
    PENDING,
    RUNNING,
    START_FAILED,
    TERMINATED,
    TIMED_OUT,
    TIMEOUT,
)

_LOG_BYTES = 10 * 1024 * 1024
_GLANCE = 1.0
_TRIES_AFTER = (1, 2, 4, 8, 15, 30)
"""Retry delays for removal; after these, `prime gc` or its deadline removes it."""
_KEPT_SECONDS = 3600.0
_CANNOT_RUN = 126
"""The exit code of a shell for what it cannot start."""

_log = logging.getLogger(__name__)


class ManagedSandbox:
    """One sandbox."""

    def __init__(
        self, spec: SandboxSpec, provider: SandboxProvider, folder: Path, slot: StartSlot
    ) -> None:
        self.spec = spec
        self.provider = provider
        self.state = ObservedState(status=PENDING)
        self.ready = asyncio.Event()
        """Set once it runs, or has failed."""
        self.ended = asyncio.Event()
        self.log = bytearray()
        self.used_at = time.monotonic()
        self.calls = 0
        """Calls that are going on: then it is not idle."""
        self._running: RunningSandbox | None = None
        self._folder = folder
        self._slot = slot
        self._stopping = asyncio.Event()
        self._changing = asyncio.Lock()
        self._wanted_end: tuple[str, str | None, str | None] | None = None
        self._removing: asyncio.Task[None] | None = None
        self._task = asyncio.create_task(self._live())

    @property
    def running(self) -> RunningSandbox:
        """The running sandbox; raises Conflict if it does not run (yet)."""
        if self._running is None or self.state.status != RUNNING:
            raise Conflict(f"The sandbox is not running: it is {self.state.status}")
        return self._running

    async def end(
        self, status: str = TERMINATED, kind: str | None = None, why: str | None = None
    ) -> None:
        """End it, and wait until nothing is left; the first reason stays."""
        if self._wanted_end is None:
            self._wanted_end = (status, kind, why)
        self._stopping.set()
        await self.ended.wait()

    async def _live(self) -> None:
        helpers: list[asyncio.Task[None]] = []
        try:
            self._running = await self._create()
            if self._running is None:
                return
            self._change(status=RUNNING, started_at=time.time(), facts=dict(self._running.facts))
            self.ready.set()
            helpers = [asyncio.create_task(self._watch_clock())]
            if self.spec.start:
                helpers.append(asyncio.create_task(self._run_start(self._running)))
                helpers.append(asyncio.create_task(self._slot.release_when_idle(self._running)))
            await self._until_end(self._running)
        except PrimeError as error:
            refused = isinstance(error, UsageError)
            no_image = isinstance(error, ImagePullFailed)
            self._change(
                status=ERROR,
                error_type=IMAGE_PULL_FAILED if no_image else START_FAILED,
                error_message=error.message,
                hint=error.hint,
                is_refused=refused,
            )
        except Exception as error:
            self._change(
                status=ERROR,
                error_type=START_FAILED,
                error_message=f"{type(error).__name__}: {error}",
            )
            raise
        finally:
            for helper in helpers:
                helper.cancel()
            self._slot.release()
            if self._running is not None:
                await self._end(self._running)
            if self.state.status in (PENDING, RUNNING):
                status, kind, why = self._wanted_end or (TERMINATED, ENDED, None)
                self._change(status=status, error_type=kind, error_message=why)
            self._change(ended_at=time.time())
            self._remember()
            self.ready.set()
            self.ended.set()

    async def _end(self, running: RunningSandbox) -> None:
        """Remove everything of it; later, if nobody can now, as while an engine is restarted."""
        try:
            await running.end()
        except PrimeError as error:
            _log.warning("%s cannot be removed yet: %s", self.spec.tag, error.message)
            self._removing = asyncio.create_task(self._remove_later())

    async def _remove_later(self) -> None:
        for pause in _TRIES_AFTER:
            await asyncio.sleep(pause)
            with contextlib.suppress(PrimeError):
                await self.provider.remove(self.spec.tag)
                return

    async def _create(self) -> RunningSandbox | None:
        """Make it; None if it is to end before, as while an image is fetched."""
        creating = asyncio.create_task(self._create_in_slot())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({creating, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if creating.done():
                return creating.result()
        finally:
            stopping.cancel()
            if not creating.done():
                creating.cancel()
                await asyncio.wait({creating})
                if not creating.cancelled() and creating.exception() is None:
                    await self._end(creating.result())
                await self.provider.remove(self.spec.tag)
        return None

    async def _create_in_slot(self) -> RunningSandbox:
        if self.spec.start:
            await self._slot.acquire()
        return await self.provider.create(self.spec)

    async def _until_end(self, running: RunningSandbox) -> None:
        gone = asyncio.create_task(running.gone())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not self._stopping.is_set():
                found = gone.result()
                # At its time some end by themselves, in case their supervisor is gone.
                self._wanted_end = self._why_over() or (TERMINATED, found.kind, found.sentence)
        finally:
            gone.cancel()
            stopping.cancel()

    async def _watch_clock(self) -> None:
        while self._wanted_end is None:
            await asyncio.sleep(_GLANCE)
            why = self._why_over()
            if why is not None:
                self._wanted_end = why
                self._stopping.set()

    def _why_over(self) -> tuple[str, str | None, str | None] | None:
        spec = self.spec
        if time.time() >= spec.stop_at:
            return TIMEOUT, TIMED_OUT, "its time is over"
        idle = time.monotonic() - self.used_at
        if spec.idle_seconds is not None and not self.calls and idle >= spec.idle_seconds:
            return TIMEOUT, TIMED_OUT, f"it was idle for {format_duration(spec.idle_seconds)}"
        if spec.process is not None and not _is_running(spec.process):
            return TERMINATED, ENDED, "the process that it was for has ended"
        return None

    async def _run_start(self, running: RunningSandbox) -> None:
        """Run the start command; the sandbox lives on when it ends."""
        try:
            command = await running.run(ExecSpec(self.spec.start))
        except PrimeError as error:
            self.log += f"{error.message}\n".encode()
            self._change(exit_code=_CANNOT_RUN)
            return
        try:
            async for _, chunk in merged(command):
                self.log += chunk
                del self.log[: max(0, len(self.log) - _LOG_BYTES)]
            self._change(exit_code=await command.wait())
        finally:
            command.close()

    async def change_network(self, change: NetworkChange) -> None:
        """Reach what `change` names from now on; raises UsageError if its provider cannot."""
        async with self._changing:
            with self.in_use() as running:
                if not isinstance(running, ChangeableNetwork):
                    raise UsageError(
                        f"The provider `{self.provider.name}` cannot change the network of a "
                        "sandbox while it runs",
                        hint="create another with `--network` or `--network-allow`",
                    )
                spec = msgspec.structs.replace(
                    self.spec,
                    network=change.network,
                    hosts=change.hosts,
                    public_hosts=change.public_hosts,
                    variables={**change.variables, **self.spec.variables},
                )
                facts = dict(await running.change_network(spec))
                self.spec = spec
                self._change(facts=facts, generation=self.state.generation + 1)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[RunningSandbox]:
        """The running sandbox during a call; raises Conflict if it does not run."""
        running = self.running
        self.calls += 1
        try:
            yield running
        finally:
            self.calls -= 1
            self.used_at = time.monotonic()

    def _change(self, **values: object) -> None:
        self.state = msgspec.structs.replace(self.state, **values)

    def _remember(self) -> None:
        """Keep how it ended, and its log, for a hub that asks after this process is gone."""
        with contextlib.suppress(PrimeError):
            write_atomically(
                self._folder / f"{self.spec.tag}.json", msgspec.json.encode(self.state)
            )
            if self.log:
                write_atomically(self._folder / f"{self.spec.tag}.log", bytes(self.log))


def _is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody waited for does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


class SandboxManager:
    """All sandboxes of this supervisor."""

    def __init__(
        self,
        providers: Mapping[str, SandboxProvider],
        folder: Path,
        queue: StartQueue | None = None,
    ) -> None:
        self.providers = providers
        self.folder = folder
        self._sandboxes: dict[str, ManagedSandbox] = {}
        self._queue = queue or StartQueue()
        self.used_at = time.monotonic()

    async def create(self, provider: str, spec: SandboxSpec, seconds: float) -> ManagedSandbox:
        """Start a sandbox, or find the one with its tag.

        Waits for up to `seconds` until it runs.
        """
        self.used_at = time.monotonic()
        sandbox = self._sandboxes.get(spec.tag)
        if sandbox is None:
            slot = self._queue.slot()
            sandbox = ManagedSandbox(spec, self.provider(provider), self.folder, slot)
            self._sandboxes[spec.tag] = sandbox
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(sandbox.ready.wait(), seconds)
        return sandbox

    def provider(self, name: str) -> SandboxProvider:
        """Raises UsageError."""
        if name not in self.providers:
            raise UsageError(
                f"There is no provider of sandboxes `{name[:80]}`",
                hint=f"choose from: {', '.join(sorted(self.providers))}",
            )
        return self.providers[name]

    def find(self, tag: str) -> ManagedSandbox:
        """Raises NotFound."""
        self.used_at = time.monotonic()
        sandbox = self._sandboxes.get(tag)
        if sandbox is None:
            raise NotFound("The sandbox has ended")
        return sandbox

    def list_states(self, tags: Iterable[str] | None = None) -> dict[str, ObservedState]:
        """The states of `tags`, by default all, that exist or ended within the last hour."""
        wanted = self._sandboxes if tags is None else self._sandboxes.keys() & set(tags)
        return {tag: self._sandboxes[tag].state for tag in wanted}

    def is_live(self, tag: str) -> bool:
        """Whether a sandbox exists."""
        sandbox = self._sandboxes.get(tag)
        return sandbox is not None and not sandbox.ended.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether none exists."""
        return all(sandbox.ended.is_set() for sandbox in self._sandboxes.values())

    def forget_ended(self) -> None:
        """Forget those that ended an hour ago."""
        now = time.time()
        for tag, sandbox in list(self._sandboxes.items()):
            if sandbox.ended.is_set() and now - (sandbox.state.ended_at or 0) > _KEPT_SECONDS:
                del self._sandboxes[tag]

    async def end_all(self) -> None:
        """End every sandbox, as the supervisor ends."""
        live = [sandbox for sandbox in self._sandboxes.values() if not sandbox.ended.is_set()]
        why = "its supervisor was ended"
        await asyncio.gather(*(sandbox.end(TERMINATED, ENDED, why) for sandbox in live))
