"""The files of `ssh/` in prime's home, which `prime pods ssh` and the aliases use.

`known_hosts/<pod id>` holds a pod's host keys; `config` a block for each pod that was reached.
"""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.pods.ssh.addresses import require_id


@dataclass(frozen=True)
class SshFiles:
    """Their names, below prime's home."""

    home: Path

    @property
    def config(self) -> Path:
        """The file that ~/.ssh/config includes."""
        return self.home / "ssh" / "config"

    @property
    def lock(self) -> Path:
        """Held while `config` and ~/.ssh/config change."""
        return self.home / "ssh" / "config.lock"

    @property
    def all_known_hosts(self) -> Path:
        """The folder of host keys."""
        return self.home / "ssh" / "known_hosts"

    def known_hosts(self, pod_id: str) -> Path:
        """Host keys of one pod; raises IntegrityError for an id that is no name of a file."""
        return self.all_known_hosts / require_id(pod_id)
