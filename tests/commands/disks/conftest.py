"""The same hub with machines on paper as for pods."""

from tests.commands.pods.conftest import as_user, machines, prime, yard

__all__ = ["as_user", "machines", "prime", "yard"]
