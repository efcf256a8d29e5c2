"""OpenSSH's server for one pod: where it is, its configuration, and what its logins run."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import Plan, PodFolder
from prime_cli.hub.compute.local.processes import MARK

_WHERE = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/sbin"])
_SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/libexec/sftp-server",
    "/usr/lib/ssh/sftp-server",
)

_PENALTIES = (9, 8)
"""The first release that shuts out who fails to log in; no earlier one knows the setting."""

_CONFIG = """\
ListenAddress {address}
HostKey {host_key}
AuthorizedKeysFile {authorized_keys}
AllowUsers {login}
PermitRootLogin prohibit-password
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
UseDNS no
PrintMotd no
PrintLastLog no
PermitUserEnvironment no
PermitUserRC no
AcceptEnv LANG LC_*
SetEnv {variables}
AllowTcpForwarding local
PermitOpen 127.0.0.1:* localhost:* [::1]:*
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
MaxSessions 100
LoginGraceTime 30
ClientAliveInterval 60
LogLevel INFO
ForceCommand exec /bin/sh {session}
"""
# StrictModes would look at every folder above the keys, and those are the hub's own business.

_SESSION = """\
cd -- "$HOME" || exit 1
umask 077
{exports}if [ -n "${{SSH_ORIGINAL_COMMAND+set}}" ]; then
  exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"
fi
exec "$SHELL" -l
"""


def find_sshd(where: str = _WHERE) -> str:
    """The path of sshd, which wants to be started by it; `where` is looked at after PATH.

    Raises UsageError.
    """
    found = shutil.which("sshd") or shutil.which("sshd", path=where)
    if found is None:
        raise UsageError(
            "Pods on this machine need OpenSSH's server, `sshd`, which is not installed",
            hint="install the package `openssh-server`; no service of it needs to run",
        )
    return os.path.realpath(found)


def find_sftp_server() -> str | None:
    """The path of OpenSSH's sftp-server, without which only commands and rsync work."""
    return next((path for path in _SFTP_SERVERS if os.access(path, os.X_OK)), None)


def version_of(sshd: str) -> tuple[int, int]:
    """As `(9, 2)`; every release names its own, if only among the words about wrong options."""
    done = run([sshd, "-V"])
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", done.err + done.out)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def config_text(
    folder: PodFolder,
    plan: Plan,
    *,
    version: tuple[int, int],
    login: str,
    address: str,
    port: int,
) -> str:
    """An sshd_config(5); logins are let in as `login` alone, to `folder.home`."""
    variables = {"HOME": folder.home, "PRIME_POD_ID": plan.pod_id, MARK: folder.path}
    text = _CONFIG.format(
        address=f"[{address}]:{port}" if ":" in address else f"{address}:{port}",
        host_key=_quoted(folder.ssh / "host_key"),
        authorized_keys=_quoted(folder.ssh / "authorized_keys", tokens=True),
        login=_quoted(login),
        # Of several SetEnv lines only the first counts.
        variables=" ".join(_quoted(f"{name}={value}") for name, value in variables.items()),
        session=shlex.quote(str(folder.ssh / "session")),
    )
    if version >= _PENALTIES:
        # All who come from loopback are one source: who waits for the port would be in the way of
        # who has a key.
        text += "PerSourcePenalties no\n"
    # Sftp comes through ForceCommand too, as the command that was asked for.
    return text + (f"Subsystem sftp {plan.sftp_server}\n" if plan.sftp_server else "")


def session_text(variables: Mapping[str, str]) -> str:
    """What sh runs at each login: the pod's home, its variables, then the command or a shell.

    Between single quotes nothing means anything to sh (POSIX, 2.2.2), so values arrive as they
    are; they are in a file, since words of a command can be read by everybody on the machine.
    """
    exports = "".join(f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())
    return _SESSION.format(exports=exports)


def _quoted(value: object, *, tokens: bool = False) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text.replace("%", "%%") if tokens else text}"'


def make_privilege_folder() -> None:
    """Make /run/sshd, without which an sshd of root does not start.

    It is empty and root's, and a system that starts its own sshd makes the same one at boot.
    """
    if Path("/run").is_dir():
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
