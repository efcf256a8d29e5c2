"""Launch and end a cluster as its folder says; part of `run`, see there."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

_PAUSE = 0.2
_JOB_PAUSE = 2.0
_SETUP_SECONDS = 1800.0
_LAUNCH_SECONDS = 120.0
"""How long ending waits for a cancelled launch."""

_package = importlib.import_module(f"{__package__}.sky_package" if __package__ else "sky_package")


def launch(folder: Path) -> str:
    """Make the cluster that is ordered, or go on watching one that was asked for already; the file
    of ssh that leads to it.
    """
    order = _read(folder / "order.json")
    sky, sdk = _package.load()
    request = _read(folder / "request.json").get("id")
    if request is None:
        task = sky.Task.from_yaml_config(order["task"])
        ending = _autodown(order)
        if (folder / "ending").exists():
            raise _package.Refused("The pod was terminated before it started")
        request = str(sdk.launch(task, cluster_name=order["tag"], **ending))
        write(folder / "request.json", {"id": request})
        # The pod's variables are in it, and no longer needed.
        order.pop("task")
        write(folder / "order.json", order)
    job, _ = sdk.stream_and_get(request)
    if job is not None:
        _follow_setup(sky, sdk, order["tag"], job)
    return _write_ssh_config(order["tag"])


def _follow_setup(sky: Any, sdk: Any, tag: str, job: int) -> None:
    """Write the log of the setup until that has ended: nobody can log in earlier.

    It is a job of the cluster. Following its log may lose the connection, which says nothing about
    the job; nor does a cluster that SkyPilot cannot reach for a while.
    """
    not_reached = importlib.import_module("sky.exceptions").ClusterNotUpError
    deadline = time.monotonic() + _SETUP_SECONDS
    while sdk.tail_logs(tag, job, follow=True) != 0:
        try:
            status = sky.get(sdk.job_status(tag, [job])).get(job)
        except not_reached as error:
            sys.stderr.write(f"{error}\n")
        else:
            if status is not None and status.value == "SUCCEEDED":
                return
            if status is None or status.is_terminal():
                raise _package.Refused("The machine is up, but its setup failed")
        if time.monotonic() > deadline:
            raise _package.Refused("The machine is up, but its setup timed out")
        time.sleep(_JOB_PAUSE)


def _autodown(order: dict[str, Any]) -> dict[str, Any]:
    """SkyPilot counts from the last job, and there are none: all time is idle time."""
    if not order["autodown"]:
        return {}
    modes = importlib.import_module("sky.skylet.autostop_lib").AutostopWaitFor
    minutes = max(1, int((order["stop_at"] - time.time()) / 60))
    return {"idle_minutes_to_autostop": minutes, "down": True, "wait_for": modes.NONE}


def _write_ssh_config(tag: str) -> str:
    """Have SkyPilot write its ssh configuration, and return its path.

    Only its command writes the one through its server, which leads into a Slurm job.
    """
    sky = Path(sys.executable).with_name("sky")
    subprocess.run([str(sky), "status", tag], stdin=subprocess.DEVNULL, check=False)
    helper = importlib.import_module("sky.utils.cluster_utils").SSHConfigHelper
    return str(Path(helper.ssh_cluster_path.format(tag)).expanduser())


def down(folder: Path) -> str:
    """Remove everything of the cluster that the folder is named after."""
    sky, sdk = _package.load()
    request = _stop_launching(sky, sdk, folder)
    gone = importlib.import_module("sky.exceptions").ClusterDoesNotExist
    try:
        sdk.stream_and_get(sdk.down(folder.name))
    except gone:
        sys.stderr.write(f"There is no cluster {folder.name}\n")
    shutil.rmtree(folder)
    return str(request)


def _stop_launching(sky: Any, sdk: Any, folder: Path) -> str | None:
    """Cancel a launch: a barely started one would create the cluster after its end."""
    deadline = time.monotonic() + _LAUNCH_SECONDS
    while _is_at_work(folder, "launch") and time.monotonic() < deadline:
        request = _read(folder / "request.json").get("id")
        if request is not None:
            sky.get(sdk.api_cancel(request))
            break
        time.sleep(_PAUSE)
    while _is_at_work(folder, "launch"):
        if time.monotonic() > deadline:
            raise _package.Refused("The launch could not be stopped")
        time.sleep(_PAUSE)
    return str(_read(folder / "request.json").get("id"))


def _is_at_work(folder: Path, what: str) -> bool:
    try:
        lock = (folder / f"{what}.lock").open("r+")
    except OSError:
        return False
    with lock:
        return not is_free(lock)


def is_free(lock: IO[str]) -> bool:
    """Whether nobody else holds the lock; if so it is ours until the file is closed."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON atomically: readers see all of it, or the previous content."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(json.dumps(content).encode())
    temporary.replace(path)
