"""The programs of OpenSSH on this machine."""

import shutil

from prime_cli.core.errors import UsageError


def find_program(name: str) -> str:
    """The path of `ssh` or `scp`; raises UsageError where it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            f"Pods are reached with {name}, which is not installed",
            hint="install OpenSSH (the package `openssh-client`)",
        )
    return found
