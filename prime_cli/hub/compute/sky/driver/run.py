"""Ask SkyPilot something, or let it launch or end a cluster; run by the interpreter that owns it.

    python run.py offers|status      a question in JSON on stdin, the answer in JSON on stdout
    python run.py launch|down FOLDER returns at once; a process of its own does it, and writes
                                     result.json (launch) or down.json there when it has ended

An answer is `{"ok": …}`, or `{"failure": SENTENCE, "detail": LINES}`. Only the standard library
and SkyPilot (0.14.1 was tried) are imported here, and never anything of prime.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

OLDEST = (0, 14)
_PAUSE = 0.2
_LAUNCH_SECONDS = 120.0
"""How long ending waits for a launch that was told to stop."""

_offers = importlib.import_module(f"{__package__}.sky_offers" if __package__ else "sky_offers")
"""The script beside this one; neither is in a package when they are run."""


def main(arguments: list[str]) -> int:
    if arguments[0] in ("launch", "down"):
        return _detach(arguments[0], Path(arguments[1]))
    # SkyPilot talks on stdout, which is for the answer alone.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    question = json.load(sys.stdin)
    json.dump(_guarded(lambda: {"ok": _ANSWERS[arguments[0]](question)}), out)
    out.close()
    return 0


def _guarded(work: Any) -> dict[str, Any]:
    try:
        return dict(work())
    except _offers.Refused as error:
        return {"failure": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever SkyPilot raises is told
        last = str(error).strip() or type(error).__name__
        return {"failure": last.splitlines()[0], "detail": traceback.format_exc()}


# Questions


def find_offers(question: dict[str, Any]) -> dict[str, Any]:
    """What can be rented in `infra`, and which files of its user SkyPilot would put there."""
    sky, sdk = _load()
    rows = _offers.find_rows(sky, sdk, question["infra"])
    return {"rows": rows, "uploaded": _offers.find_uploaded()}


def find_clusters(_question: dict[str, Any]) -> list[dict[str, str]]:
    """All clusters of this user; SkyPilot's server asks the clouds about them by itself."""
    sky, sdk = _load()
    return [
        {"name": each["name"], "status": each["status"].value} for each in sky.get(sdk.status())
    ]


_ANSWERS = {"offers": find_offers, "status": find_clusters}


# Work that outlives the command


def _detach(what: str, folder: Path) -> int:
    """Start `what` in a process of its own, unless one is at it already."""
    import fcntl

    lock = (folder / f"{what}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0
    if os.fork():
        return 0
    # The child holds the lock on until it ends, however that is.
    os.setsid()
    os.umask(0o077)
    with (folder / "log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    work, name = (_launch, "result.json") if what == "launch" else (_down, "down.json")
    result = _guarded(lambda: {"ok": work(folder)})
    if "detail" in result:
        sys.stderr.write(result["detail"])
    if folder.exists():
        _write(folder / name, result)
    sys.stdout.flush()
    os._exit(0)


def _launch(folder: Path) -> str:
    """Make the cluster that is ordered, or go on watching one that was asked for already; the file
    of ssh that leads to it.
    """
    order = _read(folder / "order.json")
    sky, sdk = _load()
    request = _read(folder / "request.json").get("id")
    if request is None:
        task = sky.Task.from_yaml_config(order["task"])
        ending = _autodown(order)
        if (folder / "ending").exists():
            raise _offers.Refused("It was ended before it began")
        request = str(sdk.launch(task, cluster_name=order["tag"], **ending))
        _write(folder / "request.json", {"id": request})
        # The variables of the pod are in it, and nobody needs them any more.
        order.pop("task")
        _write(folder / "order.json", order)
    job, _ = sdk.stream_and_get(request)
    # The setup is a job of the cluster; until it has ended, nobody can log in.
    if job is not None and sdk.tail_logs(order["tag"], job, follow=True) != 0:
        raise _offers.Refused("The machine is up, and its setup failed")
    return _write_ssh_config(order["tag"])


def _autodown(order: dict[str, Any]) -> dict[str, Any]:
    """SkyPilot counts from the last job, and there are none: idle time is time."""
    if not order["autodown"]:
        return {}
    modes = importlib.import_module("sky.skylet.autostop_lib").AutostopWaitFor
    minutes = max(1, int((order["stop_at"] - time.time()) / 60))
    return {"idle_minutes_to_autostop": minutes, "down": True, "wait_for": modes.NONE}


def _write_ssh_config(tag: str) -> str:
    """Let SkyPilot write its way in, and say where that is.

    Its command alone writes the one through its server, which leads into a job of Slurm.
    """
    sky = Path(sys.executable).with_name("sky")
    subprocess.run([str(sky), "status", tag], stdin=subprocess.DEVNULL, check=False)
    helper = importlib.import_module("sky.utils.cluster_utils").SSHConfigHelper
    return str(Path(helper.ssh_cluster_path.format(tag)).expanduser())


def _down(folder: Path) -> str:
    """Let nothing be left of the cluster that the folder is called after."""
    sky, sdk = _load()
    request = _stop_launching(sky, sdk, folder)
    gone = importlib.import_module("sky.exceptions").ClusterDoesNotExist
    try:
        sdk.stream_and_get(sdk.down(folder.name))
    except gone:
        sys.stderr.write(f"There is no cluster {folder.name}\n")
    shutil.rmtree(folder)
    return str(request)


def _stop_launching(sky: Any, sdk: Any, folder: Path) -> str | None:
    """Cancel a launch: one that has only begun would make the cluster after it was ended."""
    deadline = time.monotonic() + _LAUNCH_SECONDS
    while _is_at_work(folder, "launch") and time.monotonic() < deadline:
        request = _read(folder / "request.json").get("id")
        if request is not None:
            sky.get(sdk.api_cancel(request))
            break
        time.sleep(_PAUSE)
    while _is_at_work(folder, "launch"):
        if time.monotonic() > deadline:
            raise _offers.Refused("The launch does not stop")
        time.sleep(_PAUSE)
    return str(_read(folder / "request.json").get("id"))


def _is_at_work(folder: Path, what: str) -> bool:
    import fcntl

    try:
        lock = (folder / f"{what}.lock").open("r+")
    except OSError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


# SkyPilot, and files


def _load() -> tuple[Any, Any]:
    """SkyPilot, and its client; its first call starts a server on this machine."""
    version = _version()
    if version is None:
        raise _offers.Refused(f"{sys.executable} has no SkyPilot")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise _offers.Refused(f"SkyPilot {version} is too old: 0.14.1 is what was tried")
    return importlib.import_module("sky"), importlib.import_module("sky.client.sdk")


def _version() -> str | None:
    for name in ("skypilot", "skypilot-nightly"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(json.dumps(content).encode())
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
