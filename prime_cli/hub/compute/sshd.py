"""OpenSSH's server for one pod: its options everywhere, and its location on this machine."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run

_WHERE = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/sbin"])
_SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/libexec/sftp-server",
    "/usr/lib/ssh/sftp-server",
)

_CONFIG = """\
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
ListenAddress {address}
HostKey {host_key}
AuthorizedKeysFile {authorized_keys}
AllowUsers {login}
SetEnv {variables}
ForceCommand exec /bin/sh {session}
"""
# StrictModes would check every folder above the keys, which are the hub's own business.

_PENALTIES = (9, 8)
"""The first release that locks out failing logins; earlier ones do not know the setting."""


def config_text(
    folder: PurePath,
    *,
    login: str,
    address: str,
    variables: Mapping[str, object],
    version: tuple[int, int] = (0, 0),
    sftp_server: str | None = None,
) -> str:
    """An sshd_config(5) for a pod whose keys and session are in `folder`.

    Only `login` may log in. `address` is for ListenAddress; `version` is sshd's.
    """
    text = _CONFIG.format(
        address=address,
        host_key=_quoted(folder / "host_key"),
        authorized_keys=_quoted(folder / "authorized_keys", tokens=True),
        login=_quoted(login),
        # Of several SetEnv lines only the first counts.
        variables=" ".join(_quoted(f"{name}={value}") for name, value in variables.items()),
        session=shlex.quote(str(folder / "session")),
    )
    if version >= _PENALTIES:
        # Everyone from loopback is one source: clients waiting for the port would block those with
        # a key.
        text += "PerSourcePenalties no\n"
    # Sftp also comes through ForceCommand, as the requested command.
    return text + (f"Subsystem sftp {sftp_server}\n" if sftp_server else "")


def _quoted(value: object, *, tokens: bool = False) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text.replace("%", "%%") if tokens else text}"'


# --- On this machine ---


def find_sshd(where: str = _WHERE) -> str:
    """The path of sshd, which must be started by it; `where` is searched after PATH.

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
    """As `(9, 2)`; every release states its own, if only in its message about wrong options."""
    done = run([sshd, "-V"])
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", done.err + done.out)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def make_privilege_folder() -> None:
    """Create /run/sshd, which root's sshd needs to start.

    It is empty and owned by root; a system that starts its own sshd creates the same one at boot.
    """
    if sys.platform != "win32" and os.geteuid() == 0 and Path("/run").is_dir():
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)


def require_login() -> str:
    """The name of our user. Raises UsageError if sshd would not let it log in."""
    if sys.platform == "win32":
        raise UsageError("Pods do not run on Windows; use a hub on Linux, or a cloud")
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise UsageError(
            "The user that prime runs as has no name here, so sshd cannot let it in"
        ) from error
    shell = user.pw_shell or "/bin/sh"
    if Path(shell).name in ("nologin", "false") or not os.access(shell, os.X_OK):
        raise UsageError(
            f"The user `{user.pw_name}` has no shell to log in with, but `{shell}`",
            hint=f"`chsh -s /bin/sh {user.pw_name}`, or run prime as another user",
        )
    if _is_locked(user.pw_name):
        raise UsageError(
            f"The account `{user.pw_name}` is locked, so sshd refuses its logins",
            hint=f"`usermod -p '*' {user.pw_name}` unlocks it for keys, and for no password",
        )
    return user.pw_name


def _is_locked(name: str) -> bool:
    """By shadow(5), which only root can read, as root's sshd does."""
    try:
        text = Path("/etc/shadow").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    entries = (line.split(":") for line in text.splitlines())
    return any(entry[0] == name and entry[1].startswith("!") for entry in entries if entry[1:])
