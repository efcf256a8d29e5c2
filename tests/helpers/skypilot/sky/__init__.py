"""What the driver takes from `sky` itself."""

from types import SimpleNamespace
from typing import Any

from . import world
from .clouds import Cloud
from .exceptions import ClusterDoesNotExist, ClusterNotUpError


class Task:
    """Holds the task as it was given."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    @staticmethod
    def from_yaml_config(config: dict[str, Any]) -> "Task":
        return Task(config)


class Resources:
    """Knows the cloud of an `infra`."""

    def __init__(self, infra: str) -> None:
        cloud, _, region = infra.partition("/")
        self.cloud, self.region = Cloud(cloud.lower()), region or None


def get(request: tuple[str, Any]) -> Any:
    """The answer to a request, which is a pair of what and of what."""
    what, about = request
    if what == "status":
        names = world.clusters().items()
        return [{"name": name, "status": SimpleNamespace(value=each)} for name, each in names]
    if what == "offers":
        return world.offers(about)
    if what == "jobs":
        if world.read()["unreached"]:
            world.change(unreached=False)
            raise ClusterNotUpError("It is in INIT")
        job = SimpleNamespace(value=world.read()["job"], is_terminal=lambda: True)
        return dict.fromkeys(about, job)
    if what == "cancel":
        world.change(cancelled=[*world.read()["cancelled"], about])
        return None
    return world.read()[what]


def down(name: str) -> None:
    """End a cluster."""
    if world.read()["down"] == "fail":
        raise RuntimeError("The cloud does not let go")
    left = world.clusters()
    if left.pop(name, None) is None:
        raise ClusterDoesNotExist(name)
    world.change(clusters=left)
