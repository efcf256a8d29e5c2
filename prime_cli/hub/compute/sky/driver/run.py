"""Query SkyPilot, or launch or end a cluster with it; run by SkyPilot's interpreter.

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
import math
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import IO, Any

# --- SkyPilot ---

OLDEST = (0, 14)


class Refused(Exception):
    """A failure to report in one sentence."""


def load() -> tuple[Any, Any]:
    """SkyPilot and its client; its first call starts a server on this machine."""
    version = _version()
    if version is None:
        raise Refused(f"{sys.executable} has no SkyPilot")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise Refused(f"SkyPilot {version} is too old: 0.14.1 is what was tried")
    return importlib.import_module("sky"), importlib.import_module("sky.client.sdk")


def _version() -> str | None:
    for name in ("skypilot", "skypilot-nightly"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


# --- Offers ---

_POOLS = ("slurm", "kubernetes", "ssh")
_FEATURES = ("DOCKER_IMAGE", "MULTI_NODE", "AUTOSTOP")
_HAND_OUT_KEY = ("mithril", "seeweb", "verda")
"""Clouds on each of whose machines SkyPilot puts its own private key (its templates, 0.14.1).

It opens all of SkyPilot's machines. Elsewhere it is only copied along with credentials.
"""


def find_uploaded(rows: list[dict[str, Any]]) -> list[str]:
    """Credential files that SkyPilot copies to each machine it creates.

    It does so for all clouds, even those without a machine in `rows`, unless its configuration says
    `remote_identity: NO_UPLOAD` for them.
    """
    check = importlib.import_module("sky.check")
    config = importlib.import_module("sky.skypilot_config")
    registry = importlib.import_module("sky.utils.registry").CLOUD_REGISTRY
    kept = [
        cloud
        for name, cloud in registry.items()
        if config.get_effective_workspace_region_config(
            cloud=name.lower(), region=None, keys=("remote_identity",), default_value=None
        )
        == "NO_UPLOAD"
    ]
    used = {str(row["infra"]).partition("/")[0].lower() for row in rows}
    keys = ["~/.ssh/sky-cluster-key"] if used.intersection(_HAND_OUT_KEY) else []
    return sorted(check.get_cloud_credential_file_mounts(kept)) + keys


def find_rows(sky: Any, sdk: Any, infra: list[str]) -> list[dict[str, Any]]:
    """A row per pool, and per instance or number of GPUs available in `infra`."""
    enabled = [str(name) for name in sky.get(sdk.enabled_clouds(expand=True))]
    wanted = [name.lower() for name in infra]
    chosen = [name for name in enabled if not wanted or _is_wanted(name.lower(), wanted)]
    if not enabled:
        raise Refused("SkyPilot has no enabled cloud; run `sky check` to see what each one needs")
    if not chosen:
        raise Refused(f"SkyPilot may use {', '.join(enabled)}, and none of {', '.join(wanted)}")
    rows, troubles = [], []
    for name in chosen:
        cloud, _, pool = name.partition("/")
        refused = _refused_features(sky, name)
        if cloud.lower() in _POOLS:
            rows.append({"infra": name, "refused": refused})
        try:
            found = _accelerators(sky, sdk, cloud.lower(), pool or None)
        except Exception as error:  # noqa: BLE001 - the other clouds are to be had
            troubles.append(f"{name}: {error}")
            continue
        rows += [{"infra": name, "refused": refused, **row} for row in found]
    if not rows:
        raise Refused(f"SkyPilot has no prices or machines of {'; '.join(troubles) or 'any cloud'}")
    sys.stderr.writelines(f"{trouble}\n" for trouble in troubles)
    return rows


def _is_wanted(name: str, wanted: list[str]) -> bool:
    """`slurm/lab` is wanted where `slurm/lab` or `slurm` is, `aws` where `aws/us-east-1` is."""
    return any(name == w or name.startswith(f"{w}/") or w.startswith(f"{name}/") for w in wanted)


def _accelerators(sky: Any, sdk: Any, cloud: str, pool: str | None) -> list[dict[str, Any]]:
    found = sky.get(
        sdk.list_accelerators(
            gpus_only=True,
            clouds=[cloud],
            region_filter=pool,
            all_regions=pool is None,
            require_price=False,
        )
    )
    keys = ("instance_type", "accelerator_name", "accelerator_count", "cpu_count")
    more = ("device_memory", "memory", "price", "spot_price", "region")
    return [
        {key: _plain(getattr(info, key)) for key in (*keys, *more)}
        for infos in found.values()
        for info in infos
    ]


def _plain(value: Any) -> Any:
    """For JSON: catalogs contain numpy numbers, and NaN for unknown values."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return None if math.isnan(number) else number


def _refused_features(sky: Any, infra: str) -> dict[str, str]:
    """What a cloud cannot do, with its own reason."""
    clouds = importlib.import_module("sky.clouds")
    exceptions = importlib.import_module("sky.exceptions")
    resources = sky.Resources(infra=infra)
    refused = {}
    for name in _FEATURES:
        feature = clouds.CloudImplementationFeatures[name]
        try:
            resources.cloud.check_features_are_supported(resources, {feature}, resources.region)
        except exceptions.NotSupportedError as error:
            refused[name.lower()] = " ".join(str(error).split())
    return refused


# --- Clusters ---

_PAUSE = 0.2
_JOB_PAUSE = 2.0
_SETUP_SECONDS = 1800.0
_LAUNCH_SECONDS = 120.0
"""How long ending waits for a cancelled launch."""


def launch(folder: Path) -> str:
    """Create the ordered cluster, or keep watching one already requested.

    Returns the path of its ssh configuration.
    """
    order = _read(folder / "order.json")
    sky, sdk = load()
    request = _read(folder / "request.json").get("id")
    if request is None:
        task = sky.Task.from_yaml_config(order["task"])
        ending = _autodown(order)
        if (folder / "ending").exists():
            raise Refused("The pod was terminated before it started")
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
                raise Refused("The machine is up, but its setup failed")
        if time.monotonic() > deadline:
            raise Refused("The machine is up, but its setup timed out")
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
    sky, sdk = load()
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
            raise Refused("The launch could not be stopped")
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


# --- Calls ---

_TRIES = 20
_LOCK_PAUSE = 0.05


def main(arguments: list[str]) -> int:
    if arguments[0] in ("launch", "down"):
        return _detach(arguments[0], Path(arguments[1]))
    # SkyPilot prints to stdout, which is reserved for the answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    question = json.load(sys.stdin)
    json.dump(_guarded(lambda: {"ok": _ANSWERS[arguments[0]](question)}), out)
    out.close()
    return 0


def _guarded(work: Any) -> dict[str, Any]:
    try:
        return dict(work())
    except Refused as error:
        return {"failure": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure of SkyPilot is reported
        last = str(error).strip() or type(error).__name__
        return {"failure": last.splitlines()[0], "detail": traceback.format_exc()}


# Questions


def find_offers(question: dict[str, Any]) -> dict[str, Any]:
    """What can be rented in `infra`, and which of its user's files SkyPilot would put there."""
    sky, sdk = load()
    rows = find_rows(sky, sdk, question["infra"])
    return {"rows": rows, "uploaded": find_uploaded(rows)}


def find_clusters(_question: dict[str, Any]) -> list[dict[str, str]]:
    """All clusters of this user; SkyPilot's server polls the clouds by itself."""
    sky, sdk = load()
    return [
        {"name": each["name"], "status": each["status"].value} for each in sky.get(sdk.status())
    ]


_ANSWERS = {"offers": find_offers, "status": find_clusters}


# Work that outlives the command


def _detach(what: str, folder: Path) -> int:
    """Start `what` in a separate process, unless one is already running."""
    if sys.platform == "win32":
        raise OSError("SkyPilot does not run on Windows")
    lock = (folder / f"{what}.lock").open("w")
    if not _take(lock) or os.fork():
        return 0
    # The child keeps the lock until it ends, in whatever way.
    os.setsid()
    os.umask(0o077)
    with (folder / "log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    work, name = _WORK[what]
    result = _guarded(lambda: {"ok": work(folder)})
    if "detail" in result:
        sys.stderr.write(result["detail"])
    if folder.exists():
        write(folder / name, result)
    sys.stdout.flush()
    os._exit(0)


_WORK = {
    "launch": (launch, "result.json"),
    "down": (down, "down.json"),
}


def _take(lock: IO[str]) -> bool:
    """Take a lock; False if another process works. A mere check holds it for a moment."""
    for _ in range(_TRIES):
        if is_free(lock):
            return True
        time.sleep(_LOCK_PAUSE)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
