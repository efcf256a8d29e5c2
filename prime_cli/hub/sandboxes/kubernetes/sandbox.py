"""A sandbox in a pod: the commands that are started in it, and its end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import aiohttp

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.sandboxes.kubernetes.client import PROTOCOLS, Cluster
from prime_cli.hub.sandboxes.kubernetes.command import PodCommand, new_end, wrap
from prime_cli.hub.sandboxes.kubernetes.manifests import USER
from prime_cli.hub.sandboxes.kubernetes.settings import ROOT
from prime_cli.hub.sandboxes.kubernetes.states import describe_end, is_over
from prime_cli.hub.sandboxes.kubernetes.watch import PodFeed
from prime_cli.hub.sandboxes.provider import LONGEST_COMMAND, End, ExecSpec

_KILL_SECONDS = 20.0

Remove = Callable[[], Awaitable[None]]


class PodSandbox:
    """The pod that `feed` follows; `remove` removes everything of it from the cluster."""

    def __init__(self, cluster: Cluster, feed: PodFeed, pod_name: str, remove: Remove) -> None:
        self.facts: Mapping[str, str] = {}
        self._cluster, self._feed, self._pod_name = cluster, feed, pod_name
        self._remove = remove

    @property
    def is_gone(self) -> bool:
        """As `RunningSandbox.is_gone`."""
        pod = self._feed.pod
        return self._feed.is_deleted or pod is None or is_over(pod)

    async def run(self, command: ExecSpec) -> PodCommand:
        """As `RunningSandbox.run`."""
        if sum(map(len, command.argv)) > LONGEST_COMMAND:
            raise UsageError(
                f"The command is longer than {LONGEST_COMMAND} characters",
                hint="upload a file, and run that",
            )
        self._require_user(command.user)
        if self.is_gone:
            raise NotFound("The sandbox has ended")
        socket, end = await self._start(command)
        if command.stdin and socket.protocol != PROTOCOLS[0]:
            await socket.close()
            raise UsageError(
                "The cluster cannot end the input of a command, nor take files",
                hint="this needs Kubernetes 1.30 or later",
            )
        return self._command(socket, end, stdin=command.stdin)

    async def gone(self) -> End:
        """As `RunningSandbox.gone`."""
        while not self.is_gone:
            await self._feed.change()
        return describe_end(
            None if self._feed.is_deleted and not self._has_end() else self._feed.pod
        )

    async def end(self) -> None:
        """As `RunningSandbox.end`."""
        await self._remove()

    async def _start(self, command: ExecSpec) -> tuple[aiohttp.ClientWebSocketResponse, str]:
        end = new_end()
        argv = wrap(end, command)
        return await self._cluster.execute(self._pod_name, argv, stdin=command.stdin), end

    def _command(
        self, socket: aiohttp.ClientWebSocketResponse, end: str, *, stdin: bool
    ) -> PodCommand:
        return PodCommand(socket, self._kill, lambda: self.is_gone, end=end, stdin=stdin)

    def _has_end(self) -> bool:
        return self._feed.pod is not None and is_over(self._feed.pod)

    async def _kill(self, pid: int, number: int) -> None:
        """Signal a group of processes, else the process alone; dash takes no `--`."""
        line = f"kill -{number} -{pid} 2>/dev/null || kill -{number} {pid}"
        socket, end = await self._start(ExecSpec(("/bin/sh", "-c", line)))
        killing = self._command(socket, end, stdin=False)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(killing.wait(), _KILL_SECONDS)
        finally:
            killing.close()

    def _require_user(self, user: str | None) -> None:
        settings = self._cluster.settings
        own = ("root", "0") if settings.root else (str(USER),)
        if user and user not in own:
            raise UsageError(
                f"Commands in a pod run as user {own[-1]}, not as `{user[:80]}`",
                hint=f"{ROOT}=1 makes it root, in a user namespace of the pod"
                if user in ("root", "0")
                else "the provider `engine` (Podman or Docker) has the users of its image",
            )
