"""Sandboxes in a Kubernetes cluster: labels are the only record of them."""

import asyncio
import math
import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prime_cli.core.errors import Conflict, EnvironmentFailed, NotFound, PrimeError, UsageError
from prime_cli.core.installation import require
from prime_cli.hub.sandboxes.kubernetes.manifests import (
    GROUP,
    LABEL,
    USER,
    VERSIONS,
    make_job,
    make_pod,
    make_policy,
    make_sandbox,
    make_secret,
    owner_of,
)
from prime_cli.hub.sandboxes.kubernetes.network import Network, make_network
from prime_cli.hub.sandboxes.kubernetes.objects import Group, KubernetesObject, ObjectList, Pod
from prime_cli.hub.sandboxes.kubernetes.settings import read_settings
from prime_cli.hub.sandboxes.kubernetes.states import (
    describe_wait,
    is_running,
    needs_place,
    read_isolation,
    read_limits,
    why_not_started,
)
from prime_cli.hub.sandboxes.provider import RunningSandbox, SandboxSpec
from prime_cli.hub.sandboxes.registry import SandboxContext
from prime_cli.wire.sandboxes import NONE

if TYPE_CHECKING:
    from prime_cli.hub.sandboxes.kubernetes.client import Cluster
    from prime_cli.hub.sandboxes.kubernetes.watch import PodFeed, PodWatch

_START_SECONDS = 600.0
"""How long a pod may take to start: its image may be fetched."""
_PLACE_SECONDS = 180.0
"""How long a pod may wait for a node with room, which a cluster may add."""
_PROBE_SECONDS = 60.0
"""How long a pod that only tries the network may take: the hub waits for the answer."""
_PROBE_AGAIN_SECONDS = 60.0
"""How long what it said is kept, if it did not see the network filtered."""
_JOBS, _POLICIES = "apis/batch/v1", "apis/networking.k8s.io/v1"


class KubernetesProvider:
    """Makes sandboxes in one namespace of a cluster."""

    name = "kubernetes"

    def __init__(self, place_seconds: float = _PLACE_SECONDS) -> None:
        self._place_seconds = place_seconds
        self._connected: tuple[Cluster, PodWatch] | None = None
        self._connecting = asyncio.Lock()
        self._version: str | None = None
        self._is_filtered = False
        """Whether a pod of this cluster was seen to be kept from what its policy does not name."""
        self._probing = asyncio.Lock()
        self._probed: tuple[float, PrimeError | None] = -math.inf, None
        """When a pod of ours last tried that, and why it did not see it."""

    async def check(self, spec: SandboxSpec, *, may_fetch: bool) -> tuple[str, ...]:
        """As `SandboxProvider.check`: the cluster itself is asked, by a creation that it forgets.

        Nodes fetch images, so whether one is there cannot be known. A pod is asked for, since what
        makes pods of other objects is refused only after these.
        """
        cluster, _ = await self._connect()
        pod = make_pod(spec, cluster.settings, await make_network(spec))
        await self._post(cluster, pod, query=[("dryRun", "All")])
        differs = [] if cluster.settings.root else [f"commands run as user {USER}, not as root"]
        if spec.folders:
            differs.append(f"these folders of this machine are missing: {', '.join(spec.folders)}")
        return (*differs, *await self._probe())

    async def create(self, spec: SandboxSpec) -> RunningSandbox:
        """As `SandboxProvider.create`."""
        return await self._create(spec, self._place_seconds, _START_SECONDS)

    async def _create(
        self, spec: SandboxSpec, place_seconds: float, start_seconds: float
    ) -> RunningSandbox:
        cluster, watch = await self._connect()
        from prime_cli.hub.sandboxes.kubernetes.sandbox import PodSandbox

        feed = watch.follow(spec.tag)
        try:
            network = await make_network(spec)
            manifest = self._manifest(cluster, spec, network)
            made = await self._make(cluster, manifest)
            # No command runs before these are there, and they go with their owner.
            owner = owner_of(manifest, made)
            await self._make(cluster, make_policy(spec, network, owner))
            if spec.variables:
                await self._make(cluster, make_secret(spec, owner))
            pod = await _started(feed, place_seconds, start_seconds)
            sandbox = PodSandbox(cluster, feed, pod.metadata.name, lambda: self.remove(spec.tag))
            sandbox.facts = self._facts(spec, cluster, pod, network)
            self._is_filtered = True
        except BaseException:
            # What cannot be removed now is found by `list_tags`.
            with suppress(PrimeError):
                await self.remove(spec.tag)
            raise
        return sandbox

    async def _probe(self) -> tuple[str, ...]:
        """Have a pod of ours try the network: none starts where it is not filtered.

        So this is known before a model is paid. Creations that come together wait for one pod, and
        not again for a while. Raises UsageError; what could not be seen is told.
        """
        async with self._probing:
            if self._is_filtered:
                return ()
            at, failure = self._probed
            if time.monotonic() - at > _PROBE_AGAIN_SECONDS:
                failure = await self._try_network()
                self._probed = time.monotonic(), failure
        if isinstance(failure, UsageError):
            raise failure
        return (f"its network is tried only as it starts: {failure.message}",) if failure else ()

    async def _try_network(self) -> EnvironmentFailed | UsageError | None:
        cluster, _ = await self._connect()
        spec = SandboxSpec(
            tag=f"prime-probe-{secrets.token_hex(8)}",
            id="probe",
            image=cluster.settings.probe_image,
            stop_at=time.time() + 2 * _PROBE_SECONDS,
            cpu_cores=0.1,
            memory_gb=0.1,
            disk_size_gb=0.1,
            network=NONE,
        )
        most = min(self._place_seconds, _PROBE_SECONDS)
        try:
            await (await self._create(spec, most, _PROBE_SECONDS)).end()
        except (EnvironmentFailed, UsageError) as error:
            return error
        return None

    async def list_tags(self, prefix: str) -> Collection[str]:
        """As `SandboxProvider.list_tags`."""
        cluster, _ = await self._connect()
        tags: set[str] = set()
        for path in self._paths(cluster):
            found = await cluster.request(
                "GET", path, ObjectList[KubernetesObject], query=[("labelSelector", LABEL)]
            )
            for each in found.items:
                if each.metadata.deletion_timestamp is None:
                    tags.add(each.metadata.labels.get(LABEL, ""))
        return sorted(tag for tag in tags if tag.startswith(prefix))

    async def remove(self, tag: str) -> None:
        """As `SandboxProvider.remove`."""
        cluster, watch = await self._connect()
        watch.forget(tag)
        for path in self._paths(cluster):
            with suppress(NotFound):
                await cluster.request(
                    "DELETE",
                    f"{path}/{tag}",
                    KubernetesObject,
                    query=[("propagationPolicy", "Background")],
                )

    async def describe(self) -> str:
        """The cluster that answers, and what makes sandboxes there; raises PrimeError."""
        cluster, _ = await self._connect()
        await self.list_tags("prime-")
        return f"{cluster.configuration.host} (namespace {cluster.namespace}, {self._maker()})"

    async def close(self) -> None:
        """Close its connections."""
        if self._connected is not None:
            cluster, watch = self._connected
            self._connected = None
            await watch.close()
            await cluster.close()

    # --- Objects ---

    def _manifest(self, cluster: "Cluster", spec: SandboxSpec, network: Network) -> dict[str, Any]:
        if self._version is None:
            return make_job(spec, cluster.settings, network)
        return make_sandbox(spec, cluster.settings, network, self._version)

    def _paths(self, cluster: "Cluster") -> list[str]:
        """Where a sandbox may have anything; jobs also where agent-sandbox was installed later."""
        paths = [cluster.path("sandboxes", group=f"apis/{GROUP}/{self._version}")]
        own = [cluster.path("jobs", group=_JOBS), cluster.path("networkpolicies", group=_POLICIES)]
        return [*(paths if self._version else []), *own, cluster.path("secrets")]

    async def _make(self, cluster: "Cluster", manifest: dict[str, Any]) -> KubernetesObject:
        """Create an object, or find the one that an earlier try of the same creation made."""
        try:
            return await self._post(cluster, manifest)
        except Conflict:
            path = f"{_path(cluster, manifest)}/{manifest['metadata']['name']}"
            found = await cluster.request("GET", path, KubernetesObject)
            same = found.metadata.labels.get(LABEL) == manifest["metadata"]["labels"][LABEL]
            if same and found.metadata.deletion_timestamp is None:
                return found
            raise

    async def _post(
        self,
        cluster: "Cluster",
        manifest: dict[str, Any],
        query: Collection[tuple[str, str]] = (),
    ) -> KubernetesObject:
        path = _path(cluster, manifest)
        return await cluster.request(
            "POST", path, KubernetesObject, body=manifest, query=list(query)
        )

    def _facts(
        self, spec: SandboxSpec, cluster: "Cluster", pod: Pod, network: Network
    ) -> dict[str, str]:
        return {
            "provider": KubernetesProvider.name,
            "image": spec.image,
            "files": "its image's, and a layer of its own",
            **read_limits(pod, spec),
            "network": network.fact,
            **read_isolation(pod, cluster.settings),
            "made as": self._maker(),
            "node": pod.spec.node_name,
        }

    def _maker(self) -> str:
        return f"agent-sandbox {self._version}" if self._version else "jobs, without agent-sandbox"

    # --- Connection ---

    async def _connect(self) -> "tuple[Cluster, PodWatch]":
        """The cluster that is configured now; raises UsageError."""
        settings = read_settings()
        async with self._connecting:
            if self._connected is None or self._connected[0].settings != settings:
                require("kubernetes", "Sandboxes in Kubernetes", "kubernetes_asyncio")
                from prime_cli.hub.sandboxes.kubernetes.client import Cluster
                from prime_cli.hub.sandboxes.kubernetes.watch import PodWatch

                cluster = await Cluster.connect(settings)
                try:
                    self._version = await _find_version(cluster)
                except PrimeError:
                    await cluster.close()
                    raise
                self._connected, self._is_filtered = (cluster, PodWatch(cluster)), False
                self._probed = -math.inf, None
            return self._connected


def _path(cluster: "Cluster", manifest: dict[str, Any]) -> str:
    match manifest["kind"]:
        case "Sandbox":
            return cluster.path("sandboxes", group=f"apis/{manifest['apiVersion']}")
        case "Job":
            return cluster.path("jobs", group=_JOBS)
        case "NetworkPolicy":
            return cluster.path("networkpolicies", group=_POLICIES)
        case kind:
            return cluster.path(f"{kind.lower()}s")


async def _find_version(cluster: "Cluster") -> str | None:
    """The newest version of agent-sandbox that both know; None where it is not installed."""
    try:
        group = await cluster.request("GET", f"/apis/{GROUP}", Group)
    except NotFound:
        return None
    served = {each.version for each in group.versions}
    return next((each for each in VERSIONS if each in served), None)


async def _started(feed: "PodFeed", place_seconds: float, start_seconds: float) -> Pod:
    """The pod once commands can be started in it; raises PrimeError if it will not."""
    began = time.monotonic()
    while True:
        if feed.error is not None:
            raise feed.error
        if feed.is_deleted:
            raise EnvironmentFailed("The pod was deleted before it ran")
        failure = None if feed.pod is None else why_not_started(feed.pod)
        if failure is not None:
            raise failure
        if feed.pod is not None and is_running(feed.pod):
            return feed.pod
        most = place_seconds if needs_place(feed.pod) else start_seconds
        try:
            async with asyncio.timeout(began + most - time.monotonic()):
                await feed.change()
        except TimeoutError:
            raise EnvironmentFailed(
                f"The cluster did not start the pod within {most:g} seconds: "
                f"{describe_wait(feed.pod)}",
                hint="`kubectl describe pod` says more",
            ) from None


def open_provider(_context: SandboxContext) -> KubernetesProvider:
    """The provider, which looks for a cluster at each call."""
    return KubernetesProvider()
