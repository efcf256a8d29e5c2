"""Pods on this machine for tests: a provider in a folder, real sshds, and a key that opens them."""

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import psutil

from prime_cli.hub.compute.local.folder import PodFolder, end_processes, members
from prime_cli.hub.compute.local.provider import LocalProvider
from prime_cli.hub.compute.provider import PodSpec, PodStatus
from prime_cli.wire.offers import GpuOffer
from tests.helpers.ssh_keys import public_line

T = TypeVar("T")

OFFER = GpuOffer(cloud_id="local", gpu_type="CPU_NODE", gpu_count=1, provider="local")


class Here:
    """A provider in a folder of a test, and a key that its pods are opened with."""

    def __init__(self, folder: Path, key: Path) -> None:
        self.provider = LocalProvider(folder)
        self.key = key
        self.tags: list[str] = []

    def order(self, **wishes: Any) -> PodSpec:
        """A pod for an hour, with the test's key."""
        tag = f"prime-test{os.getpid():x}-{secrets.token_hex(4)}"
        self.tags.append(tag)
        stop_at = datetime.now(UTC) + timedelta(hours=1)
        made = PodSpec(tag, f"id-of-{tag}", "mine", "ada", OFFER, stop_at, (public_line(self.key),))
        return replace(made, **wishes)

    def up(self, **wishes: Any) -> str:
        """Start a pod and wait until it is up; returns its tag."""
        order = self.order(**wishes)
        self.provider.start(order)
        self.wait(order.tag, "ACTIVE")
        return order.tag

    def wait(self, tag: str, status: str) -> PodStatus:
        """Wait for a status, of those that a pod does not leave."""
        seen = wait_until(lambda: self._settled(tag), what=f"{tag} is {status}")
        assert seen.status == status, (seen, self.provider.log(tag, 50))
        return seen

    def _settled(self, tag: str) -> PodStatus | None:
        seen = self.provider.inspect([tag]).get(tag)
        return None if seen is None or seen.status in ("PROVISIONING", "DELETING") else seen

    def supervisor(self, tag: str) -> psutil.Process:
        """The process that holds the pod."""
        running = members(self.folder(tag))
        (found,) = [each for each in running if "supervisor.py" in " ".join(each.cmdline())]
        return found

    def kill_supervisor(self, tag: str) -> None:
        """As the killer of processes does that a machine has when it is out of memory."""
        self.supervisor(tag).kill()
        wait_until(lambda: not self.folder(tag).is_supervised, what="nobody supervises the pod")

    def reboot(self, *tags: str) -> None:
        """Nothing of these pods runs any more."""
        for tag in tags:
            if self.folder(tag).is_supervised:
                self.kill_supervisor(tag)
            end_processes(self.folder(tag))

    def again(self, tag: str) -> PodStatus:
        """Start a pod again that can be, and wait until it is up."""
        assert self.provider.inspect([tag])[tag].is_resumable, self.provider.inspect([tag])
        self.provider.resume(tag)
        return self.wait(tag, "ACTIVE")

    def gone(self, tag: str) -> None:
        """Wait until nothing is left of a pod."""
        wait_until(lambda: tag not in self.provider.list_tags(tag), what=f"{tag} is gone")

    def folder(self, tag: str) -> PodFolder:
        return PodFolder(self.provider.folder / tag)

    def options(self, tag: str, *, port: str = "-p") -> list[str]:
        """Words for ssh and its like, with the host key of this pod and no other."""
        seen = self.wait(tag, "ACTIVE")
        known = self.key.with_name(f"known-{tag}")
        known.write_text(f"{tag} {seen.host_keys[0]}\n", encoding="utf-8")
        settings = (
            f"UserKnownHostsFile={known}", f"HostKeyAlias={tag}", "StrictHostKeyChecking=yes",
            "IdentitiesOnly=yes", f"IdentityFile={self.key}", "BatchMode=yes", "LogLevel=ERROR",
        )  # fmt: skip
        words = [word for setting in settings for word in ("-o", setting)]
        return ["-F", "none", *words, port, str(seen.addresses[0].port)]

    def host(self, tag: str) -> str:
        address = self.wait(tag, "ACTIVE").addresses[0]
        return f"{address.user}@{address.host}"

    def ssh(self, tag: str, *words: str, **given: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command on a pod."""
        argv = ["ssh", *self.options(tag), self.host(tag), *words]
        how: Any = {"encoding": "utf-8", **given}
        return subprocess.run(argv, capture_output=True, timeout=120, check=False, **how)

    def close(self) -> None:
        for tag in {*self.tags, *self.provider.list_tags("")}:
            self.provider.end(tag)


def wait_until(look: Callable[[], T | None], *, what: str) -> T:
    """What `look` returns once that is true; a busy machine is given two minutes."""
    deadline = time.monotonic() + 120
    while not (found := look()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found
