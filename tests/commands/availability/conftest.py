"""The same hub as that of the pods."""

from tests.commands.pods.conftest import as_user, machines, pod_hub, prime

__all__ = ["as_user", "machines", "pod_hub", "prime"]
