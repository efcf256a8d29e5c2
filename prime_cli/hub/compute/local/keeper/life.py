"""The life of a keeper: make the pod, hold it until its end, and remove it."""

import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import PrimeError
from prime_cli.hub.compute.local.folder import (
    ACTIVE,
    DELETING,
    ERROR,
    PROVISIONING,
    Plan,
    PodFolder,
)
from prime_cli.hub.compute.local.keeper.log import Log
from prime_cli.hub.compute.local.keeper.server import Failed, Server
from prime_cli.hub.compute.local.processes import reap
from prime_cli.hub.compute.local.removal import end_processes, remove_pod
from prime_cli.hub.compute.local.system import detach, inherit_descendants
from prime_cli.hub.compute.local.users import find_user

_GLANCE = 1.0
"""Seconds between looks at the clock, which may have been set, and at sshd."""
_TRY_AGAIN = 30.0


class _Ended(BaseException):
    """Somebody told the keeper to end its pod."""


def live(path: Path, lock: int) -> None:
    """Keep the pod in this folder, as a process of its own; `lock` is the descriptor of its lock.

    Returns in that process, once nothing is left of the pod or it cannot come up.
    """
    if sys.platform == "win32":
        return
    detach()
    os.umask(0o077)
    os.set_inheritable(lock, False)  # noqa: FBT003 - its only form
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    _answer(_end)
    inherit_descendants()
    folder = PodFolder(path)
    plan = folder.read_plan()
    if plan is not None:
        _keep(folder, plan, Log(folder.log))


def _end(_number: int, _frame: object) -> None:
    # Once is enough: what follows is the end.
    _answer(signal.SIG_IGN)
    raise _Ended


def _answer(how: Callable[[int, object], None] | signal.Handlers) -> None:
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, how)


def _keep(folder: PodFolder, plan: Plan, log: Log) -> None:
    try:
        _make_and_hold(folder, plan, log)
    except _Ended:
        log.add("told to end")
    except (PrimeError, Failed, OSError, subprocess.SubprocessError) as error:
        _fail(folder, plan, log, str(error))
        return
    except Exception as error:
        log.add(traceback.format_exc())
        _fail(folder, plan, log, f"{type(error).__name__}: {error}")
        raise
    _remove(folder, plan, log)


def _make_and_hold(folder: PodFolder, plan: Plan, log: Log) -> None:
    folder.change_state(status=PROVISIONING, progress=10)
    server = Server(folder, plan, log)
    try:
        server.start()
        state = folder.change_state(
            status=ACTIVE,
            progress=100,
            login=server.login,
            port=server.port,
            host_key=server.host_key,
        )
        log.add(f"ready: {state.login}@{plan.host} -p {state.port}")
        _hold(folder, plan, server)
    finally:
        server.close()
    log.add("its time is over")


def _hold(folder: PodFolder, plan: Plan, server: Server) -> None:
    """Return at the deadline; raises Failed when sshd ends by itself, and _Ended when somebody has
    removed the folder, with which nobody else could end the pod.
    """
    while (left := plan.stop_at - time.time()) > 0:
        select.select([server.said], [], [], min(left, _GLANCE))
        server.listen()
        server.require_running(reap())
        if not folder.lock.exists():
            raise _Ended


def _fail(folder: PodFolder, plan: Plan, log: Log, why: str) -> None:
    """Leave the folder, which says why, and nothing else."""
    _answer(signal.SIG_IGN)
    log.add(why)
    user = find_user(plan.user) if plan.user else None
    end_processes(folder, keeper=os.getpid(), user=user)
    folder.change_state(status=ERROR, failure=why)


def _remove(folder: PodFolder, plan: Plan, log: Log) -> None:
    _answer(signal.SIG_IGN)
    with suppress(OSError):
        folder.change_state(status=DELETING)
    while True:
        try:
            remove_pod(folder, plan.user, keeper=os.getpid())
        except (PrimeError, OSError, subprocess.SubprocessError) as error:
            log.add(str(error))
            time.sleep(_TRY_AGAIN)
        else:
            return
