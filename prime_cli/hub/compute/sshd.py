"""OpenSSH's server for one pod, and what a login finds: keys, variables and disks."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run
from prime_cli.hub.compute.provider import Mount

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


# --- Logins ---

_TAG = re.compile(r"prime-[a-z0-9-]{1,40}", re.ASCII)


def is_tag(text: str) -> bool:
    """Whether this is a valid name for a folder, a container and a volume."""
    return _TAG.fullmatch(text) is not None


def require_tag(tag: str) -> None:
    """Raise UsageError for what `is_tag` refuses."""
    if not is_tag(tag):
        raise UsageError(f"`{tag}` is not the tag of a pod or a disk")


# --- Sessions and keys ---

_SESSION = """\
cd -- "$HOME" || exit 1
umask 077
{exports}if [ -n "${{SSH_ORIGINAL_COMMAND+set}}" ]; then
  exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"
fi
exec "$SHELL" -l
"""


def session_script(variables: Mapping[str, str]) -> str:
    """The script that sh runs at each login: the pod's home, variables, then a command or a shell.

    Between single quotes nothing means anything to sh (POSIX, 2.2.2), so values arrive as they
    are; they are in a file, since words of a command can be read by everybody on the machine.
    """
    exports = "".join(f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())
    return _SESSION.format(exports=exports)


def authorized_keys(keys: Sequence[str]) -> str:
    """The file as sshd reads it (sshd(8)): a key is one line, whatever it contains."""
    return "".join(f"{' '.join(key.split())}\n" for key in keys)


def make_host_key() -> tuple[bytes, str]:
    """A private key in OpenSSH's format, and its public half as `ssh-ed25519 AAAA…`."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private, public.decode()


# --- Disks ---


def link_names(disks: Sequence[Mount]) -> dict[str, str]:
    """The name of each disk, by its tag, in a pod's home: its own name, if that is plain."""
    names: dict[str, str] = {}
    for disk in disks:
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in disk.name)
        plain = plain.strip("-")[:64] or "disk"
        names[disk.tag] = f"{plain}-{disk.disk_id[:8]}" if plain in names.values() else plain
    return names


# --- Variables ---

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 100_000
"""Linux takes at most 128 KiB in one variable."""
_MOST = 1_000_000

_OF_THE_POD = frozenset(
    {"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "CUDA_VISIBLE_DEVICES"}
)
_OF_SHELLS = frozenset(
    "BASHOPTS BASHPID CDPATH DIRSTACK ENV EUID FUNCNAME GROUPS HISTCMD IFS LINENO OPTARG OPTIND "
    "PPID PS1 PS2 PS3 PS4 RANDOM SECONDS SHELLOPTS SHLVL UID".split()
)
_BEGINNINGS = ("BASH_", "DYLD_", "LD_", "PRIME_POD_", "SSH_")


def require_variables(variables: Mapping[str, str]) -> None:
    """Raise UsageError naming the first variable that cannot be passed unchanged.

    Refuses names that no shell can set, those that the pod or its shells set themselves, those that
    run other code before every program (`LD_PRELOAD`, `BASH_ENV`), and values that no process can
    have. `PATH` is allowed, but a login shell's files may change it.
    """
    for name, value in variables.items():
        why = _wrong_with(name, value)
        if why:
            raise UsageError(f"A pod on this machine cannot have the variable `{name}`: {why}")
    if sum(len(name) + len(value.encode()) for name, value in variables.items()) > _MOST:
        raise UsageError(f"The variables of a pod have more than {_MOST} bytes together")


def _wrong_with(name: str, value: str) -> str | None:
    if _NAME.fullmatch(name) is None:
        return "it is no name of a variable"
    if name in _OF_THE_POD:
        return "the pod sets it"
    if name in _OF_SHELLS or name.startswith(_BEGINNINGS):
        return "it belongs to the shell, the loader or sshd"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "its value is no text"
    if "\0" in value:
        return "its value holds a null byte"
    return f"its value has more than {_LONGEST} bytes" if size > _LONGEST else None
