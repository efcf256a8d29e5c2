"""Starting the keeper of a pod."""

import os
import subprocess
import sys
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import open_descriptor, storage_errors
from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.folder import PodFolder
from prime_cli.hub.compute.local.keeper.log import last_lines
from prime_cli.hub.compute.local.processes import MARK
from prime_cli.hub.compute.local.system import SYSTEM_PATH

_KEEPER = Path(__file__).parent / "keeper" / "__main__.py"
_BEGIN_SECONDS = 120.0
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def launch(folder: PodFolder, lock: int) -> None:
    """Start the keeper, which is given the lock; it is on its own when this returns.

    Raises StorageFailed.
    """
    # Nothing of our environment: keys are in it.
    environ = {"PATH": SYSTEM_PATH, MARK: str(folder.path)}
    with storage_errors(folder.log):
        descriptor = open_descriptor(folder.log, _APPEND)
    with os.fdopen(descriptor, "ab") as log:
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-X",
                    "utf8",
                    str(_KEEPER),
                    str(folder.path),
                    str(lock),
                    current_boot(),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=environ,
                pass_fds=[lock],
                timeout=_BEGIN_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StorageFailed(f"The keeper of a pod cannot be started: {error}") from error
    if done.returncode:
        raise StorageFailed(
            f"The keeper of a pod ended with {done.returncode} before it began",
            detail=last_lines(folder.log, 20),
        )
