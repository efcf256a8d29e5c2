"""The same hub with machines on paper as for pods."""

from tests.commands.pods.conftest import as_user, machines, pod_hub, prime

__all__ = ["as_user", "machines", "pod_hub", "prime"]
