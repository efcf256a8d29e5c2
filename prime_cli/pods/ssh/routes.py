"""Quote words for ssh's files and `-o` (ssh_config(5))."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.pods.ssh.addresses import ConfigHost, NodeAddress
from prime_cli.pods.ssh.host_keys import has_host_key, host_alias
from prime_cli.pods.ssh.identity import SshIdentity

_WITHOUT_QUOTES = frozenset("/._-+=@:,~%")


def quote_path(path: Path) -> str:
    """A file name, quoted where needed; ssh's `%` tokens and blanks are taken literally.

    Raises UsageError for a name that cannot be written: with `"`, `${`, a line break.
    """
    # Windows' ssh accepts `/` too, and `\\` would start an escape.
    text = path.absolute().as_posix() if sys.platform == "win32" else str(path.absolute())
    if not text.isprintable() or '"' in text or "${" in text or "\\" in text:
        raise UsageError(
            f"ssh cannot use the file {text!r}",
            hint="rename it to a path without quotes, `\\`, `${` and line breaks",
        )
    text = text.replace("%", "%%")
    plain = all(each.isalnum() or each in _WITHOUT_QUOTES for each in text)
    return text if plain else f'"{text}"'


def find_program(name: str) -> str:
    """The path of `ssh` or `scp`; raises UsageError if it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            f"Connecting to pods needs {name}, which is not installed",
            hint="install OpenSSH (the package `openssh-client`)",
        )
    return found


_HEARTBEAT = "30"
"""Seconds of silence before ssh checks the connection: routers forget sooner."""


@dataclass(frozen=True)
class SshRoute:
    """A node and the route to it.

    `name` is the pod's name for people, `node` counts from 0. `known_hosts` has its host keys,
    `pinned` if they came from the hub. `host` is one of an ssh file, if that is needed.
    """

    pod_id: str
    name: str
    node: int
    address: NodeAddress
    identity: SshIdentity
    known_hosts: Path
    pinned: bool = False
    host: ConfigHost | None = None

    @property
    def host_alias(self) -> str:
        """The node's name in `known_hosts`."""
        return host_alias(self.pod_id, self.node)

    @property
    def target(self) -> str:
        """What ssh connects to."""
        return self.address.login if self.host is None else self.host.name

    @property
    def options(self) -> list[tuple[str, str]]:
        """The ssh_config(5) options for every connection, also by an alias."""
        # If no key is known the first is kept; after that no other is accepted.
        known = has_host_key(self.known_hosts, self.host_alias)
        return [
            ("IdentityFile", quote_path(self.identity.file)),
            ("IdentitiesOnly", "yes"),
            ("HostKeyAlias", self.host_alias),
            ("UserKnownHostsFile", quote_path(self.known_hosts)),
            ("GlobalKnownHostsFile", os.devnull),
            ("StrictHostKeyChecking", "yes" if known else "accept-new"),
            ("CheckHostIP", "no"),
            ("VerifyHostKeyDNS", "no"),
            ("UpdateHostKeys", "no"),
            ("HashKnownHosts", "no"),
            # An impostor asks for a password, or for a Kerberos ticket.
            ("PreferredAuthentications", "publickey"),
            ("PasswordAuthentication", "no"),
            # Settings for all hosts were not meant for rented ones; `-A` and `-X` still work.
            ("ForwardAgent", "no"),
            ("ForwardX11", "no"),
            ("ServerAliveInterval", _HEARTBEAT),
        ]

    def arguments(self) -> list[str]:
        """The same for the command lines of ssh and scp.

        An open shared connection (ControlPath) may lead to another pod that had this address, with
        other keys: none is reused.
        """
        words = ["-F", str(self.host.file)] if self.host else []
        for name, value in [*self.options, ("ControlPath", "none")]:
            words += ["-o", f"{name}={value}"]
        if self.host is None:
            words += ["-o", f"Port={self.address.port}"]
        return words

    def ssh(self, *options: str) -> list[str]:
        """An ssh argument list up to the host; raises UsageError if ssh is missing."""
        return [find_program("ssh"), *self.arguments(), *options, self.target]


def command_options() -> list[str]:
    """Options for a command: forwards and commands that a user's configuration has for sessions
    would fail or hide it.
    """
    return [
        *("-o", "ClearAllForwardings=yes"),
        *("-o", "RemoteCommand=none"),
        *("-o", "LogLevel=ERROR"),
    ]
