"""The sshd of a pod, as its keeper sees it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from prime_cli.core.paths import open_descriptor
from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import Plan, PodFolder
from prime_cli.hub.compute.local.keeper.log import Log
from prime_cli.hub.compute.local.processes import MARK
from prime_cli.hub.compute.local.served import let_pass
from prime_cli.hub.compute.local.sshd import config_text, make_privilege_folder, version_of
from prime_cli.hub.compute.local.system import is_root, login_name, renounce_privileges
from prime_cli.hub.compute.local.users import SystemUser, give, make_user

_PATIENCE = 60.0
_PORTS = 20
_LONGEST_LINE = 4096


class Failed(Exception):
    """The pod cannot come up, or stay up, for this reason."""


class Server:
    """One sshd, and the pipe that it speaks into; `host_key` is a line, as `ssh-ed25519 AAAA…`."""

    def __init__(self, folder: PodFolder, plan: Plan, log: Log) -> None:
        self._folder = folder
        self._plan = plan
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._unfinished = b""
        self._last = ""
        self._listening = False
        self._user: SystemUser | None = None
        self._version = version_of(plan.sshd)
        self.login = plan.user or login_name()
        self.port = 0
        self.host_key = ""
        # To read first: who opens such a pipe to write alone waits for a reader.
        self.said = open_descriptor(folder.said, os.O_RDWR | getattr(os, "O_NONBLOCK", 0))

    def start(self) -> None:
        """Make a host key, and start sshd on a port that was free. Raises Failed, OSError."""
        self._make_host_key()
        if self._plan.user is not None:
            self._user = self._settle(self._plan.user)
        elif is_root():
            make_privilege_folder()
        for _ in range(_PORTS):
            if self._start_on(*_free_port(self._plan.host)):
                return
        raise Failed(f"No port of {self._plan.host} is free: {self._last}")

    def _settle(self, name: str) -> SystemUser:
        """Make the pod's own user, and give it what is its own and no more."""
        user = make_user(name, self._folder.home)
        let_pass(self._folder.path, user.gid)
        give(self._folder.home, user.uid, user.gid, of=0)
        for disk in self._folder.disks():
            give(disk, user.uid, user.gid, of=0)
        # Whatever sshd starts, no program lets it become somebody else.
        renounce_privileges()
        return user

    def listen(self) -> None:
        """Write down what sshd has said."""
        with suppress(BlockingIOError):
            self._unfinished += os.read(self.said, 65536)
        *lines, rest = self._unfinished.split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        self._unfinished = rest
        for line in lines:
            self._last = line.decode(errors="replace").strip()[:_LONGEST_LINE]
            self._listening = self._listening or self._last.startswith("Server listening on ")
            self._log.add(self._last)

    def require_running(self, ended: Mapping[int, int]) -> None:
        """Raise Failed if sshd is among the children that ended, with their exit codes."""
        if self._process is not None and self._process.pid in ended:
            code = self._process.returncode = ended[self._process.pid]
            self.listen()
            raise Failed(f"Its sshd ended with {code}: {self._last}")

    def close(self) -> None:
        """End sshd, if it runs, and hear its last words."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        self.listen()

    def _make_host_key(self) -> None:
        path = self._folder.ssh / "host_key"
        wanted = ["-q", "-t", "ed25519", "-N", "", "-C", self._plan.tag, "-f", str(path)]
        done = run(["ssh-keygen", *wanted])
        if not done.ok:
            raise Failed(f"ssh-keygen failed: {done.last_lines()}")
        public = path.with_name("host_key.pub").read_text(encoding="utf-8")
        self.host_key = " ".join(public.split()[:2])

    def _start_on(self, address: str, port: int) -> bool:
        """Whether sshd listens there; if not, somebody was faster."""
        config = self._folder.ssh / "sshd_config"
        text = config_text(
            self._folder,
            self._plan,
            version=self._version,
            login=self.login,
            address=address,
            port=port,
        )
        config.write_bytes(text.encode())
        if self._user is not None:
            let_pass(self._folder.path, self._user.gid)
        self._listening = False
        self._process = self._run([self._plan.sshd, "-D", "-e", "-f", str(config)])
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            ended = self._process.poll()
            self.listen()
            if self._listening and ended is None:
                self.port = port
                return True
            if ended is not None:
                if "Address already in use" in self._last or "Cannot bind" in self._last:
                    return False
                raise Failed(f"sshd did not start: {self._last or f'it ended with {ended}'}")
            time.sleep(0.01)
        raise Failed(f"sshd did not listen within {_PATIENCE:g} seconds: {self._last}")

    def _run(self, argv: list[str]) -> "subprocess.Popen[bytes]":
        if sys.platform == "win32":
            raise Failed("Windows holds no pods")
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.said,
            user=self._user.uid if self._user else None,
            group=self._user.gid if self._user else None,
            extra_groups=[] if self._user else None,
            cwd="/",
            env={"PATH": os.environ["PATH"], MARK: str(self._folder.path)},
        )


def _free_port(host: str) -> tuple[str, int]:
    """An address of `host`, and a port that nobody listens on there just now."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
            address, port = probe.getsockname()[:2]
    except OSError as error:
        raise Failed(f"{host} is no address of this machine: {error.strerror or error}") from error
    return str(address), int(port)
