"""A pod's files in its container: who may log in, sshd's options, and the start script."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from prime_cli.hub.compute.logins import authorized_keys, session_script
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.hub.compute.sshd import config_text

_FOLDER = "/etc/prime-pod"
SSH_PORT = 22
LISTENS, FAILED = "Server listening on", "sshd ended with"
"""The log's messages for success and failure of the start."""
COMMAND = ("/bin/sh", f"{_FOLDER}/boot")

# sh is process 1, where it also reaps orphans. The log is lost with the container, so it stays a
# few seconds for its creator to read why sshd exited.
_BOOT = """\
command -v sshd >/dev/null || PATH=$PATH:/usr/sbin:/usr/local/sbin:/sbin
mkdir -p /run/sshd
cd {folder} || exit 1
for server in /usr/lib/openssh /usr/libexec/openssh /usr/libexec /usr/lib/ssh; do
  [ ! -x $server/sftp-server ] || echo "Subsystem sftp $server/sftp-server" >>sshd_config
done
timeout -k 5 {seconds} "$(command -v sshd || echo sshd)" -D -e -f {folder}/sshd_config
code=$?
[ $code = 124 ] || echo "{failed} $code" >&2
[ $code = 124 ] || sleep 5
"""


def pack_files(order: PodSpec, host_key: bytes, *, seconds: int) -> bytes:
    """A tar archive for the container's root; its pod ends after `seconds`."""
    files = {
        "boot": _BOOT.format(folder=_FOLDER, seconds=seconds, failed=FAILED),
        "sshd_config": config_text(
            PurePosixPath(_FOLDER),
            login="root",
            address=f"0.0.0.0:{SSH_PORT}",
            variables={"PRIME_POD_ID": order.pod_id},
        ),
        "session": session_script(order.variables),
        "authorized_keys": authorized_keys(order.authorized_keys),
        "host_key": host_key.decode(),
    }
    return _pack(files)


def _pack(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        folder = tarfile.TarInfo(_FOLDER.removeprefix("/"))
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"{folder.name}/{name}")
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
