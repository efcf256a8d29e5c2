"""The sshd of a pod, as its keeper sees it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

from prime_cli.core.paths import flush_file, open_descriptor
from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import Plan, PodFolder, State
from prime_cli.hub.compute.local.keeper.log import Log
from prime_cli.hub.compute.local.leftovers import forbid_manager
from prime_cli.hub.compute.local.limits import Limits, limit_pod
from prime_cli.hub.compute.local.processes import (
    MARK,
    Process,
    end_servers,
    find_process,
    send,
)
from prime_cli.hub.compute.local.served import let_pass
from prime_cli.hub.compute.local.sshd import config_text, make_privilege_folder, version_of
from prime_cli.hub.compute.local.system import is_root, login_name, renounce_privileges
from prime_cli.hub.compute.local.users import SystemUser, find_user, give, make_user

_PATIENCE = 60.0
_PORTS = 20
_TOLD_TOO_WITHIN = 1.0
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
        self._taken_over = False
        self._user: SystemUser | None = None
        self._limits: Limits | None = None
        self._version = version_of(plan.sshd)
        self.login = plan.user or login_name()
        self.port = 0
        self.host_key = ""
        self.process = Process(0, 0, "")
        # To read first: who opens such a pipe to write alone waits for a reader.
        self.said = open_descriptor(folder.said, os.O_RDWR | getattr(os, "O_NONBLOCK", 0))

    def start(self, before: State) -> None:
        """Let sshd listen: the one that a keeper before this left, else a new one with the pod's
        host key, on its port of before if that is free. Raises Failed, OSError.
        """
        self._take_host_key(before)
        if self._plan.user is not None:
            self._user = self._settle(self._plan.user, is_known=bool(before.port))
        elif is_root():
            make_privilege_folder()
        if self._take_over(before):
            return
        end_servers(self._folder)
        address, free = _free_port(self._plan.host)
        for port in (before.port, free):
            if port and self._start_on(address, port):
                return
        for _ in range(_PORTS):
            if self._start_on(*_free_port(self._plan.host)):
                return
        raise Failed(f"No port of {self._plan.host} is free: {self._last}")

    def _take_over(self, before: State) -> bool:
        """Whether the sshd of a keeper that is gone is there: it goes on, with its sessions."""
        left = find_process(before.sshd_pid, before.sshd_start) if before.sshd_pid else None
        self._taken_over = left is not None
        if left is None:
            return False
        self.process, self.port = left, before.port
        self._log.add(f"took over sshd, process {left.pid}")
        return True

    def _settle(self, name: str, *, is_known: bool) -> SystemUser:
        """Make the pod's own user, and give it what is its own and no more.

        One that was up has its user; another of that name would not have the numbers that its
        files belong to.
        """
        user = find_user(name)
        if user is None:
            if is_known:
                raise Failed(f"Its system user `{name}` is not there any more")
            user = make_user(name, self._folder.home)
        let_pass(self._folder.path, user.gid)
        for path in (self._folder.home, *self._folder.disks()):
            # What is in a folder is given before it.
            if path.lstat().st_uid == 0:
                give(path, user.uid, user.gid, of=0)
        if not forbid_manager(user.name, user.uid):
            self._log.add("systemd may run programs of its user, which nothing holds")
        self._limits = limit_pod(self._plan.tag, self._plan.vcpus, self._plan.memory)
        self._log.add(self._limits.words)
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

    def is_lost(self) -> bool:
        """Whether an sshd that was taken over, which is nobody's child here, has ended."""
        return self._taken_over and not find_process(self.process.pid, self.process.start)

    def require_running(self, ended: Mapping[int, int]) -> None:
        """Raise Failed if sshd is among the children that ended, with their exit codes."""
        if self._process is not None and self._process.pid in ended:
            code = self._process.returncode = ended[self._process.pid]
            self.listen()
            # A machine that shuts down tells everybody to go: us too, if that is what it was.
            time.sleep(_TOLD_TOO_WITHIN)
            raise Failed(f"Its sshd ended with {code}: {self._last}")

    def close(self) -> None:
        """End sshd, if it runs, and hear its last words."""
        if self._taken_over:
            send(self.process, signal.SIGTERM)
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        self.listen()

    def _take_host_key(self, before: State) -> None:
        """The key that the pod has, or had before; a new one would look like another host."""
        path = self._folder.ssh / "host_key"
        if not path.exists():
            if before.host_key:
                raise Failed("Its host key is not there any more")
            self._make_host_key(path)
        public = path.with_name("host_key.pub").read_text(encoding="utf-8")
        self.host_key = " ".join(public.split()[:2])

    def _make_host_key(self, path: Path) -> None:
        """Where the private half is, both are whole, also if this process or the machine ends."""
        made = path.with_name(f"making-{os.getpid()}")
        public, private = made.with_name(f"{made.name}.pub"), made
        for each in (public, private):
            each.unlink(missing_ok=True)
        wanted = ["-q", "-t", "ed25519", "-N", "", "-C", self._plan.tag, "-f", str(made)]
        done = run(["ssh-keygen", *wanted])
        if not done.ok:
            raise Failed(f"ssh-keygen failed: {done.last_lines()}")
        for each, place in ((public, path.with_name("host_key.pub")), (private, path)):
            flush_file(each)
            each.replace(place)

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
        # One before may have said that it listens when nobody heard it any more.
        self.listen()
        self._listening = False
        self._process = self._run([self._plan.sshd, "-D", "-e", "-f", str(config)])
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            ended = self._process.poll()
            self.listen()
            if self._listening and ended is None:
                self.port = port
                self.process = find_process(self._process.pid) or self.process
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
        with self._limits.applied() if self._limits else nullcontext():
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.said,
                user=self._user.uid if self._user else None,
                group=self._user.gid if self._user else None,
                # Its own group again: of none, Python 3.12.0 leaves root's (CVE-2023-6507).
                extra_groups=[self._user.gid] if self._user else None,
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
