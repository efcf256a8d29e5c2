"""A process that shares all with this machine but the network: of that it has its own loopback.

So it keeps honest code to the gateway, whatever opens the connection. It is no wall to code that
would get around it, which reads and writes the user's files as ever: a Sandbox is.
"""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.runtime.sandbox import try_program
from prime_cli.runtime.variables import without_network

_WORDS = "--dev-bind / / --unshare-net --die-with-parent --".split()


@dataclass(frozen=True)
class NetworkNamespace:
    """How processes are kept from the network; `socket` is the gateway's."""

    program: Path
    socket: Path | None = None

    @property
    def door(self) -> Path | None:
        """Where the gateway's socket is within: in its own place."""
        return self.socket

    def with_socket(self, socket: Path) -> "NetworkNamespace":
        """The same, with a door to the gateway."""
        return replace(self, socket=socket)

    def wrap(self, command: Sequence[str]) -> list[str]:
        """`command` without a network."""
        return [str(self.program), *_WORDS, *command]

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what leads to a network."""
        return without_network(env)


def find_namespace() -> tuple[NetworkNamespace | None, str]:
    """One that was seen to work on this system; else None, and why there is none."""
    found = shutil.which("bwrap")
    if found is None or sys.platform != "linux":
        return None, "this system has no bubblewrap"
    namespace = NetworkNamespace(Path(found))
    refusal = try_program(namespace.wrap(["/usr/bin/env", "true"]))
    return (namespace, "") if refusal is None else (None, refusal)
