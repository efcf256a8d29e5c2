"""The folder of a SkyPilot pod, from which any process can read its status."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.file_locks import is_locked
from prime_cli.core.paths import make_folder, write_atomically
from prime_cli.hub.compute.provider import PodStatus, SshAddress
from prime_cli.hub.compute.sky.installation import sentence
from prime_cli.wire.pods import ACTIVE, DELETING, ERROR, PROVISIONING, STOPPED, UNKNOWN

# --- Cluster folders ---
# order.json    what was ordered (mode 0600: it has the variables)
# request.json  the number of the launch at SkyPilot's server, by which it is watched again
# result.json   how the launch ended            ending     it is to end
# down.json     why ending it failed            log        what SkyPilot said
# launch.lock, down.lock                        held as long as a process does that
# ssh_config    the way in, as SkyPilot has it, with the pod's id as a host too

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|\r(?=.)")

_UNCHECKED = ("StrictHostKeyChecking", "UserKnownHostsFile", "GlobalKnownHostsFile")


@dataclass(frozen=True)
class ClusterFolder:
    """What is known locally about a cluster."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "ssh_config"

    @property
    def is_launching(self) -> bool:
        return is_locked(self.path / "launch.lock")

    @property
    def is_ending(self) -> bool:
        return is_locked(self.path / "down.lock")

    @property
    def was_asked_for(self) -> bool:
        """Whether SkyPilot's server was asked to launch it."""
        return (self.path / "request.json").exists()

    def order(self, content: dict[str, Any]) -> None:
        """Write the order; raises StorageFailed."""
        make_folder(self.path)
        write_atomically(self.path / "order.json", json.dumps(content).encode())

    @property
    def was_ordered(self) -> bool:
        return (self.path / "order.json").exists()

    @property
    def launched(self) -> dict[str, Any] | None:
        """How the launch ended: `{"ok": …}` or `{"failure": …}`; None before that."""
        return _read(self.path / "result.json")

    @property
    def not_ended(self) -> dict[str, Any] | None:
        """Why the last attempt to end it failed."""
        return _read(self.path / "down.json")

    def is_quiet_since(self, moment: float) -> bool:
        """Whether it was up before `moment` (seconds since the epoch), and is not to be ended."""
        with suppress(OSError):
            launched_at = (self.path / "result.json").stat().st_mtime
            return launched_at < moment and not (self.path / "ending").exists()
        return False

    def mark_ending(self) -> None:
        """Mark it as ending, so that nothing more of it starts; raises StorageFailed."""
        make_folder(self.path)
        write_atomically(self.path / "ending", b"")
        (self.path / "down.json").unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def last_lines(self, count: int) -> str:
        """The end of SkyPilot's output, without colours."""
        with suppress(OSError):
            text = (self.path / "log").read_text(encoding="utf-8", errors="replace")
            return "\n".join(_COLOURS.sub("", text).splitlines()[-count:])
        return ""

    def addresses(self, *, embedded: bool) -> tuple[SshAddress, ...]:
        """The nodes' addresses; only directly reachable ones, unless from this machine."""
        with suppress(OSError, KeyError):
            blocks = list(read_blocks(self._own_config()))
            if embedded or not any("proxycommand" in block for block in blocks):
                config = str(self.config) if embedded else None
                return tuple(_address(block, config) for block in blocks)
        return ()

    def _own_config(self) -> str:
        """Our copy of SkyPilot's ssh file, created from its own on first use."""
        if not self.config.exists():
            launched, order = self.launched or {}, _read(self.path / "order.json") or {}
            text = Path(launched["ok"]).read_text(encoding="utf-8")
            own = adopt_config(text, tag=self.path.name, pod_id=order["pod_id"])
            write_atomically(self.config, own.encode())
        return self.config.read_text(encoding="utf-8")


def adopt_config(text: str, *, tag: str, pod_id: str) -> str:
    """SkyPilot's ssh file, with the pod's id as a name of the first node.

    Host keys are checked like ours, not ignored. In ssh `~` is the account's home, in SkyPilot that
    of the variable HOME.
    """
    lines = []
    for line in text.splitlines():
        words = line.replace("=", " ").split()
        if words and words[0] in _UNCHECKED:
            continue
        named = words == ["Host", tag]
        lines.append(f"{line} {pod_id}" if named else line.replace(" ~/", f" {Path.home()}/"))
    return "\n".join(lines) + "\n"


def read_blocks(text: str) -> Iterator[dict[str, str]]:
    """The options of each `Host`, by lowercase name."""
    block: dict[str, str] | None = None
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name.lower() == "host":
            if block is not None:
                yield block
            block = {}
        elif block is not None and value:
            block[name.lower()] = value.strip()
    if block is not None:
        yield block


def _address(block: dict[str, str], config: str | None) -> SshAddress:
    return SshAddress(block["user"], block["hostname"], int(block.get("port", "22")), config)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


# --- Status ---

_STEPS = (
    ("Setup detached", 90),
    ("Syncing files", 80),
    ("Cluster launched", 75),
    ("Instance is up", 50),
    ("Launching on", 20),
    ("Considered resources", 10),
)
"""SkyPilot's progress messages, latest first, in percent."""


def see_at_work(folder: ClusterFolder) -> PodStatus | None:
    """A pod that a process is creating or ending; None if none is."""
    if folder.is_ending:
        return PodStatus(DELETING)
    if folder.is_launching:
        return PodStatus(PROVISIONING, progress=_progress(folder))
    return None


def see_settled(folder: ClusterFolder, status: str | None, *, embedded: bool) -> PodStatus | None:
    """A pod that no process is working on; `status` is SkyPilot's of its cluster (None: none).

    None if nothing of it exists (any more).
    """
    launched = folder.launched
    failure = folder.not_ended or (launched if launched and "ok" not in launched else None)
    if failure is not None:
        return PodStatus(ERROR, failure=sentence(failure))
    if status is None:
        if launched is not None:  # it ended by itself, at its deadline or by hand
            folder.remove()
        return None
    if launched is None:
        return PodStatus(
            ERROR, failure="The launch was interrupted; SkyPilot may have created part of the pod"
        )
    return _of_cluster(folder, status, embedded=embedded)


def _of_cluster(folder: ClusterFolder, status: str, *, embedded: bool) -> PodStatus:
    match status:
        case "UP":
            addresses = folder.addresses(embedded=embedded)
            why = None if addresses else "It is up, and has no address that users of this hub reach"
            return PodStatus(ACTIVE if addresses else ERROR, 100, why, addresses)
        case "STOPPED":
            return PodStatus(STOPPED)
        case "AUTOSTOPPING":
            return PodStatus(DELETING)
        case _:
            why = f"SkyPilot calls it {status}: a part of it may be down"
            return PodStatus(UNKNOWN, failure=why)


def _progress(folder: ClusterFolder) -> int:
    log = folder.last_lines(200)
    return next((percent for words, percent in _STEPS if words in log), 0)
