"""OpenSSH's server on a port of this machine, for one user: us.

Home there is a folder of the test; where a login begins is still our own home, so tests name
absolute paths.
"""

import getpass
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from prime_cli.hub.compute.sshd import find_sftp_server, find_sshd, make_privilege_folder
from tests.helpers.ssh_keys import make_key, public_line

_SECONDS = 120
_CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey "{host_key}"
AuthorizedKeysFile "{authorized_keys}"
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
PrintMotd no
PrintLastLog no
AllowTcpForwarding yes
SetEnv "HOME={home}"
"""


@dataclass
class Sshd:
    """A server that lets in the keys of `let_in`; it can be stopped, and started with another
    host key at the same port.
    """

    folder: Path
    port: int = 0
    let_in: list[Path] = field(default_factory=list)
    host_key_name: str = "host_key"
    has_sftp: bool = True
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def connection(self) -> str:
        """As a hub says it."""
        return f"{getpass.getuser()}@127.0.0.1 -p {self.port}"

    @property
    def home(self) -> Path:
        """$HOME of those who log in."""
        return self.folder / "home"

    @property
    def host_key(self) -> str:
        """The public half of its host key, as a line."""
        return public_line(self.folder / self.host_key_name)

    def start(self) -> None:
        """Listen; returns once it does."""
        make_privilege_folder()
        self.home.mkdir(parents=True, exist_ok=True)
        if not (self.folder / self.host_key_name).is_file():
            make_key(self.folder, self.host_key_name)
        keys = self.folder / "authorized_keys"
        keys.write_text("".join(f"{public_line(key)}\n" for key in self.let_in), encoding="utf-8")
        deadline = time.monotonic() + _SECONDS
        wanted = self.port
        while not self._listens_at(wanted or free_port()):
            # Somebody was faster, or has the port for a connection that ends.
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.1)

    def _listens_at(self, port: int) -> bool:
        """Start at a port; False where it is taken."""
        keys, config = self.folder / "authorized_keys", self.folder / "sshd_config"
        config.write_text(
            _CONFIG.format(
                port=port,
                host_key=self.folder / self.host_key_name,
                authorized_keys=keys,
                home=self.home,
            )
            + (f"Subsystem sftp {find_sftp_server() or 'internal-sftp'}\n" * self.has_sftp),
            encoding="utf-8",
        )
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [find_sshd(), "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        self.port = port
        return self._settles()

    def stop(self) -> None:
        """Stop listening; sessions go on to their end."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_SECONDS)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _settles(self) -> bool:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and self._process is not None:
            ended = self._process.poll() is not None
            if "Server listening on" in self._log():
                return True
            if ended and "Address already in use" in self._log():
                return False
            assert not ended, self._log()
            time.sleep(0.02)
        raise AssertionError(self._log())

    def _log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


def free_port() -> int:
    """A port of this machine that nobody has just now."""
    with closed_port() as port:
        return port


@contextmanager
def closed_port() -> Iterator[int]:
    """A port of this machine at which nobody can listen until the block ends."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
