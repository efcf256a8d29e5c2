"""What the Kubernetes API answers, as far as sandboxes need it."""

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

CONTAINER, PROBE = "sandbox", "probe"
"""The containers of a pod; a cluster may add others."""


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of any object."""

    name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None
    resource_version: str = ""


class KubernetesObject(msgspec.Struct, frozen=True):
    """Any object, of which only the metadata matter."""

    metadata: Metadata = Metadata()


class Resources(msgspec.Struct, frozen=True):
    """The resources of a container, as quantities such as `2G`."""

    limits: dict[str, str] = {}


class Container(msgspec.Struct, frozen=True):
    """A container as it was accepted."""

    name: str = ""
    resources: Resources = Resources()


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a pod as it was accepted."""

    containers: list[Container] = []
    node_name: str = ""
    host_users: bool | None = None
    runtime_class_name: str | None = None


class Reason(msgspec.Struct, frozen=True, rename="camel"):
    """Why a container waits, or has terminated."""

    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None


class ContainerState(msgspec.Struct, frozen=True):
    """Of the three, one is set."""

    running: dict[str, Any] | None = None
    waiting: Reason | None = None
    terminated: Reason | None = None


class ContainerStatus(msgspec.Struct, frozen=True):
    """The state of a container."""

    name: str = ""
    state: ContainerState = ContainerState()


class Condition(msgspec.Struct, frozen=True):
    """A condition, such as `PodScheduled`."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a pod."""

    phase: str = "Pending"
    reason: str | None = None
    message: str | None = None
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class Pod(msgspec.Struct, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def container(self) -> ContainerState:
        """The state of the sandbox's own container."""
        return _state_of(CONTAINER, self.status.container_statuses)

    @property
    def probe(self) -> ContainerState:
        """The state of the container that runs before it."""
        return _state_of(PROBE, self.status.init_container_statuses)

    @property
    def limits(self) -> dict[str, str]:
        """What the sandbox's own container may use."""
        its = (each for each in self.spec.containers if each.name == CONTAINER)
        return next((each.resources.limits for each in its), {})


def _state_of(name: str, found: list[ContainerStatus]) -> ContainerState:
    return next((each.state for each in found if each.name == name), ContainerState())


class ObjectList(msgspec.Struct, Generic[T], frozen=True):
    """A list of objects."""

    items: list[T]
    metadata: Metadata = Metadata()


class Version(msgspec.Struct, frozen=True):
    """A version of a group of the API."""

    version: str


class Group(msgspec.Struct, frozen=True):
    """A group of the API, as discovery describes it."""

    versions: list[Version] = []


class WatchEvent(msgspec.Struct, frozen=True):
    """A line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: msgspec.Raw


class Cause(msgspec.Struct, frozen=True):
    """One cause of a failure."""

    reason: str | None = None
    message: str | None = None


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """More about a failure."""

    causes: list[Cause] = []
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, frozen=True):
    """How the API answers that something failed, and how a command ended."""

    status: str = ""
    message: str = ""
    reason: str | None = None
    code: int = 0
    details: Details | None = None
