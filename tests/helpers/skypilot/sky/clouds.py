"""Clouds, and what they cannot do."""

import enum
from typing import Any

from . import world
from .exceptions import NotSupportedError


class CloudImplementationFeatures(enum.Enum):
    DOCKER_IMAGE = "docker"
    MULTI_NODE = "multi"
    AUTOSTOP = "autostop"


class Cloud:
    """A cloud by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check_features_are_supported(
        self, _resources: Any, features: set[CloudImplementationFeatures], _region: Any
    ) -> None:
        for feature in features:
            if feature.name in world.read()["refused"].get(self.name, ()):
                raise NotSupportedError(f"{feature.name} is\n not there")
