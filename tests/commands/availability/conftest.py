"""The same hub as that of the pods."""

from tests.commands.pods.conftest import as_user, machines, prime, yard

__all__ = ["as_user", "machines", "prime", "yard"]
