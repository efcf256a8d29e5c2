"""The machine of the hub in the box as a provider of pods and disks, for its one user."""

import os
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from prime_cli.core.errors import Conflict, StorageFailed, UsageError
from prime_cli.core.file_locks import locked, take_lock
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.process import remove_tree
from prime_cli.hub.compute.local.folder import MARK, Plan, PodFolder, tag_of_folder
from prime_cli.hub.compute.local.supervisor import remove_pod
from prime_cli.hub.compute.machine import CPU_NODE, Gpus, find_gpus, this_machine
from prime_cli.hub.compute.provider import PodProvider, PodSpec, PodStatus, SshAddress
from prime_cli.hub.compute.registry import ProviderContext
from prime_cli.hub.compute.sshd import (
    authorized_keys,
    find_sshd,
    is_tag,
    link_names,
    make_host_key,
    require_login,
    require_tag,
    require_variables,
    session_script,
)
from prime_cli.hub.supervisors import SYSTEM_PATH, last_lines, start_supervisor
from prime_cli.wire.offers import DiskOffer, GpuOffer
from prime_cli.wire.pods import ACTIVE, ERROR, PROVISIONING

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_BEGIN_SECONDS = 120.0
_PAUSE = 0.02
_DISKS = "disks"


def open_provider(context: ProviderContext) -> PodProvider | None:
    """The machine of an embedded hub; None on a served one, where `engine` isolates users."""
    return LocalProvider(context.data / "pods") if context.is_embedded else None


@dataclass(frozen=True)
class LocalProvider:
    """Pods in `folder`, reached at `host`, an address or name of this machine.

    Every pod runs as whoever runs the hub: nothing separates them from that person or from each
    other, or holds them to a share of the machine. A supervisor has `end_seconds` to end its pod
    before the caller ends both. The constructor starts and reads nothing.
    """

    folder: Path
    host: str = "127.0.0.1"
    end_seconds: float = 15.0

    @property
    def name(self) -> str:
        return "local"

    def offers(self) -> Sequence[GpuOffer]:
        """The machine itself. Raises UsageError if sshd is missing."""
        require_login()
        find_sshd()
        gpus = find_gpus()
        taken = bool(gpus.indices) and self._in_use()
        return [this_machine(self.folder, gpus).offer(taken=taken)]

    def disk_offers(self) -> Sequence[DiskOffer]:
        return [this_machine(self.folder, Gpus()).disk_offer("a folder on this machine's disk")]

    def validate_spec(self, order: PodSpec) -> None:
        require_login()
        find_sshd()
        this_machine(self.folder, Gpus()).validate(order)
        if order.image:
            raise UsageError(
                f"A pod on this machine runs this machine's system, not the image `{order.image}`",
                hint="omit `--image`",
            )
        require_variables(order.variables)

    def start(self, order: PodSpec) -> None:
        self.validate_spec(order)
        require_tag(order.tag)
        make_folder(self.folder)
        wants_gpus = order.offer.gpu_type != CPU_NODE
        # Of two concurrent starts, only one gets the GPUs.
        with locked(self.folder / ".gpus") if wants_gpus else nullcontext():
            if wants_gpus and not self._pod(order.tag).path.exists() and self._in_use():
                raise Conflict("The GPUs of this machine are taken by another pod")
            lock = self._make(order, find_gpus() if wants_gpus else Gpus())
        if lock is None:
            return
        try:
            self._supervise(self._pod(order.tag), lock)
        except BaseException:
            remove_tree(self._pod(order.tag).path)
            raise

    def inspect(self, tags: Collection[str]) -> Mapping[str, PodStatus]:
        seen = {tag: _status_of(self._pod(tag), self.host) for tag in tags if is_tag(tag)}
        return {tag: each for tag, each in seen.items() if each is not None}

    def resume(self, tag: str) -> None:
        require_tag(tag)
        folder = self._pod(tag)
        plan = folder.read_plan()
        if plan is None or folder.why_down(time.time()) is not None:
            return
        lock = take_lock(folder.lock)
        if lock is None:
            return
        # The hub's address may have changed since.
        folder.write_plan(msgspec.structs.replace(plan, host=self.host))
        folder.change_state(status=PROVISIONING)
        self._supervise(folder, lock)

    def list_tags(self, prefix: str) -> Collection[str]:
        tags = {tag_of_folder(path.name) for path in self._entries(self.folder)}
        return sorted(tag for tag in tags if tag and tag.startswith(prefix))

    def end(self, tag: str) -> None:
        require_tag(tag)
        for path in self._entries(self.folder):
            if tag_of_folder(path.name) == tag:
                self._end(PodFolder(path))

    def log(self, tag: str, lines: int) -> str:
        return last_lines(self._pod(tag).log, lines) if is_tag(tag) else ""

    def make_disk(self, tag: str, size: int) -> None:
        require_tag(tag)
        make_folder(self.folder / _DISKS / tag)

    def remove_disk(self, tag: str) -> None:
        require_tag(tag)
        remove_tree(self.folder / _DISKS / tag)

    def list_disk_tags(self, prefix: str) -> Collection[str]:
        tags = [path.name for path in self._entries(self.folder / _DISKS) if is_tag(path.name)]
        return sorted(tag for tag in tags if tag.startswith(prefix))

    def _pod(self, tag: str) -> PodFolder:
        return PodFolder(self.folder.absolute() / tag)

    def _entries(self, folder: Path) -> list[Path]:
        with storage_errors(folder), suppress(FileNotFoundError):
            return sorted(folder.absolute().iterdir())
        return []

    def _in_use(self) -> bool:
        """Whether a pod holds its resources: even one that is down, since it will be restarted."""
        pods = [self._pod(tag) for tag in self.list_tags("")]
        states = [pod.read_state() for pod in pods]
        return any(
            pod.is_supervised or (state is not None and state.status != ERROR)
            for pod, state in zip(pods, states, strict=True)
        )

    def _make(self, order: PodSpec, gpus: Gpus) -> int | None:
        """Create a pod's folder under another name and move it into place once complete.

        Returns the descriptor of its lock; None if the pod already exists. Raises StorageFailed,
        and then leaves nothing behind.
        """
        place = self._pod(order.tag).path
        folder = PodFolder(place.with_name(f".{order.tag}.{secrets.token_hex(8)}"))
        lock: int | None = None
        try:
            if not place.exists():
                with storage_errors(folder.path):
                    folder.path.mkdir(mode=0o700)
                    lock = take_lock(folder.lock, is_new=True)
                    self._write(folder, order, gpus)
                    folder.path.rename(place)
        except BaseException as error:
            if lock is not None:
                os.close(lock)
            remove_tree(folder.path)
            if isinstance(error, StorageFailed) and place.exists():
                # Another start of the same pod was faster.
                return None
            raise
        return lock

    def _write(self, folder: PodFolder, order: PodSpec, gpus: Gpus) -> None:
        folder.ssh.mkdir(mode=0o700)
        folder.home.mkdir(mode=0o700)
        for tag, link in link_names(order.disks).items():
            (folder.home / link).symlink_to(self.folder.absolute() / _DISKS / tag)
        given = {"CUDA_VISIBLE_DEVICES": ",".join(gpus.indices)} if gpus.indices else {}
        private, public = make_host_key()
        for name, text in (
            ("session", session_script({**given, **order.variables})),
            ("authorized_keys", authorized_keys(order.authorized_keys)),
            ("host_key", private.decode()),
        ):
            (folder.ssh / name).touch(mode=0o600)
            (folder.ssh / name).write_bytes(text.encode())
        folder.write_plan(Plan(order.pod_id, order.stop_at.timestamp(), self.host, public))
        folder.change_state(status=PROVISIONING)

    def _supervise(self, folder: PodFolder, lock: int) -> None:
        """Start the supervisor and pass it the lock; it runs independently once this returns.

        Raises StorageFailed.
        """
        start_supervisor(
            "a pod",
            _SUPERVISOR,
            folder.path,
            lock,
            log=folder.log,
            environ={"PATH": SYSTEM_PATH, MARK: str(folder.path)},
            seconds=_BEGIN_SECONDS,
        )

    def _end(self, folder: PodFolder) -> None:
        """Have the supervisor do it; if it is gone or stuck, do it here."""
        folder.mark_ending()
        deadline = time.monotonic() + self.end_seconds
        while folder.is_supervised and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        if os.path.lexists(folder.path):
            remove_pod(folder)


def _status_of(folder: PodFolder, host: str) -> PodStatus | None:
    is_supervised, state = folder.is_supervised, folder.read_state()
    if not folder.path.is_dir():
        return None
    again = datetime.fromtimestamp(state.again, UTC) if state and state.again else None
    if not is_supervised:
        why = folder.why_down(time.time())
        if why is not None:
            return PodStatus(ERROR, failure=why, started_again=again)
        return PodStatus(PROVISIONING, 0, started_again=again, is_resumable=True)
    if state is None or state.status != ACTIVE:
        status = PROVISIONING if state is None else state.status
        failure = None if state is None else state.failure
        return PodStatus(status, failure=failure, started_again=again)
    plan = folder.read_plan()
    return PodStatus(
        ACTIVE,
        progress=100,
        addresses=(SshAddress(state.login, plan.host if plan else host, state.port),),
        host_keys=(plan.host_key,) if plan else (),
        started_again=again,
    )
