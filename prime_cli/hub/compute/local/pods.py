"""What LocalProvider does, apart from it so that a hub which is asked nothing of it loads none."""

import os
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.hub.compute.local import machine
from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.folder import PodFolder, is_tag, tag_of_folder
from prime_cli.hub.compute.local.gpus import find_gpus
from prime_cli.hub.compute.local.keeper.log import last_lines
from prime_cli.hub.compute.local.launching import launch
from prime_cli.hub.compute.local.laying import lay
from prime_cli.hub.compute.local.limits import what_is_held
from prime_cli.hub.compute.local.lock import claim_lock, watching
from prime_cli.hub.compute.local.processes import send
from prime_cli.hub.compute.local.removal import remove_folder, remove_pod
from prime_cli.hub.compute.local.resuming import why_not
from prime_cli.hub.compute.local.seeing import has_its_own, running_keeper, see_pod
from prime_cli.hub.compute.local.sshd import find_sftp_server, find_sshd
from prime_cli.hub.compute.local.system import require_login
from prime_cli.hub.compute.local.users import users_in
from prime_cli.hub.compute.local.variables import require_sound
from prime_cli.hub.compute.provider import PodSpec, PodStatus
from prime_cli.wire.offers import DiskOffer, GpuOffer

_PAUSE = 0.02
_DISKS = "disks"


@dataclass(frozen=True)
class LocalPods:
    """See LocalProvider. A keeper has `end_seconds` to end its pod before it is ended with it."""

    folder: Path
    host: str = "127.0.0.1"
    users: bool = False
    end_seconds: float = 15.0

    def offers(self) -> Sequence[GpuOffer]:
        """The machine itself. Raises UsageError where there is no sshd."""
        _require_posix()
        find_sshd()
        if not self.users:
            require_login()
        gpus = find_gpus()
        taken = bool(gpus.indices) and self._in_use()
        return [machine.offer_of(self.folder, gpus, taken=taken, held=self._held)]

    def disk_offers(self) -> Sequence[DiskOffer]:
        _require_posix()
        return [machine.disk_offer_of(self.folder)]

    def validate_spec(self, order: PodSpec) -> None:
        find_sshd()
        if not self.users:
            require_login()
        if order.nodes > 1:
            raise UsageError("This machine is one node: `--nodes` takes a provider that has more")
        if order.image:
            raise UsageError(
                f"A pod on this machine has its system, not the image `{order.image}`",
                hint="leave `--image` away",
            )
        require_sound(order.variables)
        for what, unit, wanted, there in (
            ("vCPUs", "", order.vcpus, machine.vcpus()),
            ("memory", " GB", order.memory, machine.memory()),
            ("disk", " GB", order.disk_size, machine.disk_size(self.folder)),
        ):
            if wanted is not None and wanted > there:
                raise UsageError(f"This machine has {there}{unit} {what}, not {wanted}{unit}")

    def start(self, order: PodSpec) -> None:
        self.validate_spec(order)
        _require_tag(order.tag)
        make_folder(self.folder)
        lock = self._lay(order)
        if lock is None:
            return
        folder = self._pod(order.tag)
        try:
            launch(folder, lock)
        except BaseException:
            remove_folder(folder.path)
            raise
        finally:
            os.close(lock)

    def inspect(self, tags: Collection[str]) -> Mapping[str, PodStatus]:
        seen = {tag: see_pod(self._pod(tag), self.host) for tag in tags if is_tag(tag)}
        return {tag: each for tag, each in seen.items() if each is not None}

    def resume(self, tag: str) -> None:
        _require_tag(tag)
        folder = self._pod(tag)
        lock = claim_lock(folder)
        if lock is None:
            return
        try:
            plan = folder.read_plan()
            if plan is None or why_not(folder, current_boot()) is not None:
                return
            # What is the machine's own may be another by now.
            sshd, sftp_server = find_sshd(), find_sftp_server()
            plan = replace(plan, host=self.host, sshd=sshd, sftp_server=sftp_server)
            folder.write_plan(plan)
            launch(folder, lock)
        finally:
            os.close(lock)

    def list_tags(self, prefix: str) -> Collection[str]:
        tags = {tag_of_folder(path.name) for path in self._entries(self.folder)}
        if self.users:
            # Of a pod whose folder somebody removed, there is still its user.
            tags.update(users_in(self.folder.absolute()))
        return sorted(tag for tag in tags if tag and tag.startswith(prefix))

    def end(self, tag: str) -> None:
        _require_tag(tag)
        for path in self._entries(self.folder):
            if tag_of_folder(path.name) == tag:
                self._end(PodFolder(path), tag)
        if self.users and tag in users_in(self.folder.absolute()):
            remove_pod(self._pod(tag), tag)

    def log(self, tag: str, lines: int) -> str:
        return last_lines(self._pod(tag).log, lines) if is_tag(tag) else ""

    def make_disk(self, tag: str, size: int) -> None:
        _require_tag(tag)
        make_folder(self.folder / _DISKS / tag)

    def remove_disk(self, tag: str) -> None:
        _require_tag(tag)
        remove_folder(self.folder / _DISKS / tag)

    def list_disk_tags(self, prefix: str) -> Collection[str]:
        tags = [path.name for path in self._entries(self.folder / _DISKS) if is_tag(path.name)]
        return sorted(tag for tag in tags if tag.startswith(prefix))

    @cached_property
    def _held(self) -> frozenset[str]:
        # Found once, as a group is made for it.
        return what_is_held() if self.users else frozenset()

    def _pod(self, tag: str) -> PodFolder:
        return PodFolder(self.folder.absolute() / tag)

    def _entries(self, folder: Path) -> list[Path]:
        with storage_errors(folder), suppress(FileNotFoundError):
            return sorted(folder.absolute().iterdir())
        return []

    def _lay(self, order: PodSpec) -> int | None:
        if order.offer.gpu_type == machine.CPU_NODE:
            return lay(self, order)
        # Of two that begin at the same time, one has the GPUs.
        with locked(self.folder / ".gpus"):
            if order.tag not in self.list_tags("") and self._in_use():
                raise Conflict("The GPUs of this machine are taken by another pod")
            return lay(self, order)

    def _in_use(self) -> bool:
        return any(has_its_own(self._pod(tag)) for tag in self.list_tags(""))

    def _tell_to_go(self, folder: PodFolder) -> bool:
        """Whether there is a keeper, which was told then."""
        keeper = running_keeper(folder)
        if keeper is not None:
            send(keeper, signal.SIGTERM)
        return keeper is not None

    def _end(self, folder: PodFolder, tag: str) -> None:
        """Let the keeper do it; if it is none any more, or stuck, do it here."""
        folder.mark_ending()
        deadline = time.monotonic() + self.end_seconds
        asked = False
        with watching(folder) as kept:
            while kept() and time.monotonic() < deadline:
                asked = asked or self._tell_to_go(folder)
                time.sleep(_PAUSE)
        if os.path.lexists(folder.path):
            remove_pod(folder, tag if self.users else None)


def _require_tag(tag: str) -> None:
    if not is_tag(tag):
        raise UsageError(f"`{tag}` is no tag of a pod or a disk")


def _require_posix() -> None:
    if os.name != "posix":
        raise UsageError("Windows holds no pods; a hub on Linux does, and so do clouds")
