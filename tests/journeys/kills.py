"""`kill -9` of whoever makes a pod, at moments by chance, and what is left of it afterwards."""

import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.helpers.local_pods import wait_until
from tests.helpers.serving import ServedHub
from tests.journeys.somebody import Somebody, pods_left, processes_of

MAKE = ("pods", "create", "--gpu-type", "CPU_NODE", "--for", "1h", "--yes", "--wait")


def what_is_left(pods: Path) -> list[str]:
    """Folders and processes of pods on this machine."""
    return [*pods_left(pods), *processes_of(pods)]


@dataclass
class Killing:
    """Rounds in one home; `left` tells what is there of pods, `seen` counts what a kill left."""

    somebody: Somebody
    chance: random.Random
    left: Callable[[], list[str]]
    seen: Counter[str] = field(default_factory=Counter)
    took: float = 0.0

    def prepare(self) -> None:
        """Make one in peace: its time says when kills are worth it, and the key is there then."""
        begun = time.monotonic()
        self.somebody.prime(*MAKE, "--name", "calm").ok()
        self.took = time.monotonic() - begun
        self.somebody.prime("pods", "terminate", "calm", "--yes").ok()

    def kill_command(self, number: int) -> None:
        """One `pods create` that is killed; the next command knows what became of it."""
        name = f"round-{number}"
        process = self.somebody.start(*MAKE, "--name", name)
        self._wait(process)
        whole = process.poll() is not None
        process.kill()
        process.wait()
        self.seen[self._settle(name, whole=whole)] += 1

    def kill_hub(self, hub: ServedHub, serve_again: Callable[[], ServedHub]) -> ServedHub:
        """The hub is killed while it makes a pod, and started again: that one is returned."""
        process = self.somebody.start(*MAKE, "--name", "made")
        self._wait(process)
        whole = process.poll() == 0
        hub.kill()
        process.wait()
        again = serve_again()
        self.somebody = replace(
            self.somebody, variables={**self.somebody.variables, "PRIME_API_BASE_URL": again.url}
        )
        self.seen[self._settle("made", whole=whole)] += 1
        return again

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        """Until any moment, or, every other time, one just after the first of the pod is there."""
        if self.chance.random() < 0.5:
            time.sleep(self.chance.uniform(0, self.took))
            return
        while process.poll() is None and not self.left():
            time.sleep(0.001)
        time.sleep(self.chance.uniform(0, 0.1))

    def _settle(self, name: str, *, whole: bool) -> str:
        """What the next commands make of a pod; whatever they say, nothing stays behind."""
        rows = [each for each in self._listed() if each["name"] == name]
        if not rows:
            assert not whole
            self.require_nothing()
            return "no row"
        left = self.left()
        status = self._status(rows[0]["id"]) if left and not left[0].startswith(".") else "-"
        if status == "ACTIVE":
            # What was begun goes on by itself, and this command knows it as its own.
            self.somebody.prime("pods", "exec", rows[0]["id"], "--", "true").ok()
        assert status == "ACTIVE" or not whole
        self.somebody.prime("pods", "terminate", rows[0]["id"], "--yes").ok()
        self.require_nothing()
        return f"row, {len(left)} there, {status}"

    def _status(self, pod: str) -> str:
        """How a pod is once it does not change by itself any more."""

        def settled() -> str | None:
            shown = self.somebody.prime("pods", "status", pod, "--output", "json").ok().json
            status = str(shown["status"])
            return None if status in ("PROVISIONING", "PENDING", "INSTALLING") else status

        return wait_until(settled, what=f"{pod} is up or is not")

    def require_nothing(self) -> None:
        """No folder, no process, no container, no row."""
        wait_until(lambda: not self.left(), what="pods are gone")
        assert self._listed() == []

    def _listed(self) -> list[dict[str, str]]:
        found: list[dict[str, str]]
        found = self.somebody.prime("pods", "list", "--output", "json").ok().json["pods"]
        return found
