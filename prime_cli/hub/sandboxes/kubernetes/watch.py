"""The pods of all sandboxes, by one watch: as many connections as one sandbox needs."""

import asyncio
from contextlib import suppress

import msgspec

from prime_cli.core.errors import NotFound, PrimeError, RateLimited, Unreachable
from prime_cli.hub.sandboxes.kubernetes.client import Cluster
from prime_cli.hub.sandboxes.kubernetes.manifests import LABEL
from prime_cli.hub.sandboxes.kubernetes.objects import ObjectList, Pod, WatchEvent

_PAUSE = 1.0


class PodFeed:
    """What is known of the pod of one sandbox; `error` is why nothing more will be."""

    def __init__(self) -> None:
        self.pod: Pod | None = None
        self.is_deleted = False
        self.error: PrimeError | None = None
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait until something has changed since the last call."""
        await self._changed.wait()
        self._changed.clear()

    def update(self, pod: Pod) -> None:
        """The pod as it is now."""
        self.pod = pod
        self._changed.set()

    def delete(self, uid: str) -> None:
        """The pod is no more; that of an earlier object with its name does not count."""
        if self.pod is not None and self.pod.metadata.uid == uid:
            self.is_deleted = True
            self._changed.set()

    def fail(self, error: PrimeError) -> None:
        """Nothing can be known."""
        self.error = error
        self._changed.set()


class PodWatch:
    """Follows the pods of sandboxes, while there are any to follow."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._feeds: dict[str, PodFeed] = {}
        self._task: asyncio.Task[None] | None = None

    def follow(self, tag: str) -> PodFeed:
        """The feed of a sandbox, which may not exist yet."""
        feed = self._feeds.setdefault(tag, PodFeed())
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return feed

    def forget(self, tag: str) -> None:
        """Follow a sandbox no longer."""
        feed = self._feeds.pop(tag, None)
        if feed is not None and feed.pod is not None:
            feed.delete(feed.pod.metadata.uid)
        if not self._feeds and self._task is not None:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """Follow nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            try:
                version = await self._list()
                while True:
                    version = await self._follow(version)
            except (NotFound, Unreachable) as error:
                # The version is too old (410), or the cluster restarts: list again.
                if isinstance(error, RateLimited) or not isinstance(error, NotFound):
                    await asyncio.sleep(_PAUSE)
            except PrimeError as error:
                for feed in self._feeds.values():
                    feed.fail(error)
                return

    async def _list(self) -> str:
        path, query = self._cluster.path("pods"), [("labelSelector", LABEL)]
        found = await self._cluster.request("GET", path, ObjectList[Pod], query=query)
        there: set[str] = set()
        for pod in found.items:
            there.add(self._update(pod))
        for tag, feed in self._feeds.items():
            if tag not in there and feed.pod is not None:
                feed.delete(feed.pod.metadata.uid)
        return found.metadata.resource_version

    async def _follow(self, version: str) -> str:
        """Follow changes since a version, until the watch ends; the version of the last one."""
        query = [
            ("labelSelector", LABEL),
            ("resourceVersion", version),
            ("allowWatchBookmarks", "true"),
        ]
        async for event in self._cluster.watch(self._cluster.path("pods"), query):
            if event.type == "ERROR":
                raise NotFound("The watch is to begin anew")
            pod = _read(event)
            version = pod.metadata.resource_version or version
            if event.type in ("ADDED", "MODIFIED"):
                self._update(pod)
            elif event.type == "DELETED":
                feed = self._feeds.get(pod.metadata.labels.get(LABEL, ""))
                if feed is not None:
                    feed.delete(pod.metadata.uid)
        return version

    def _update(self, pod: Pod) -> str:
        tag = pod.metadata.labels.get(LABEL, "")
        with suppress(KeyError):
            self._feeds[tag].update(pod)
        return tag


def _read(event: WatchEvent) -> Pod:
    try:
        return msgspec.json.decode(event.object, type=Pod)
    except msgspec.MsgspecError as error:
        raise Unreachable(
            f"The Kubernetes API sent something that is not a pod: {error}"
        ) from error
