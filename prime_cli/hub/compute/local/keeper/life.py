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
    STOPPED,
    Plan,
    PodFolder,
    State,
)
from prime_cli.hub.compute.local.keeper.log import Log
from prime_cli.hub.compute.local.keeper.server import Failed, Server
from prime_cli.hub.compute.local.lock import Keeper, last_keeper, sign_lock
from prime_cli.hub.compute.local.processes import find_process, reap
from prime_cli.hub.compute.local.removal import end_processes, remove_pod
from prime_cli.hub.compute.local.resuming import is_crash
from prime_cli.hub.compute.local.system import detach, inherit_descendants
from prime_cli.hub.compute.local.users import find_user

_GLANCE = 1.0
"""Seconds between looks at the clock, which may have been set, and at sshd."""
_TRY_AGAIN = 30.0


class _Told(BaseException):
    """Somebody told the keeper to go."""


def live(path: Path, lock: int, boot: str) -> None:
    """Keep the pod in this folder, as a process of its own; `lock` is the descriptor of its lock.

    Returns in that process: when nothing is left of the pod, when it cannot come up, or when the
    keeper was told to go and nobody wants the pod to end, as every process is when a machine
    shuts down. `boot` is the start of the machine, by which the next keeper knows what happened.
    """
    if sys.platform == "win32":
        return
    detach()
    os.umask(0o077)
    os.set_inheritable(lock, False)  # noqa: FBT003 - its only form
    inherit_descendants()
    folder = PodFolder(path)
    plan, log = folder.read_plan(), Log(folder.log)
    if plan is None:
        return
    before = _begin(folder, log, lock, boot)
    _keep(folder, plan, log, before)


def _begin(folder: PodFolder, log: Log, lock: int, boot: str) -> State:
    """Say who keeps the pod now, and that it is begun again if it is. Returns how it was.

    Raises OSError where that cannot be written; then nothing has changed.
    """
    before, last = folder.read_state() or State(PROVISIONING), last_keeper(folder)
    if last is not None:
        now, crash = time.time(), is_crash(before, last, boot)
        if last.boot != boot:
            # Those numbers may be of other processes now.
            before = folder.change_state(sshd_pid=0, sshd_start="")
            log.add("started again: this machine was started anew")
        else:
            log.add(f"started again: its keeper {'died' if crash else 'had been told to go'}")
        changes = {"again": now, "crashed": now if crash else before.crashed}
        before = folder.change_state(status=PROVISIONING, progress=10, **changes)
    else:
        before = folder.change_state(status=PROVISIONING, progress=10)
    mine = find_process(os.getpid())
    sign_lock(lock, Keeper(os.getpid(), mine.start if mine else "", boot))
    return before


def _leave(_number: int, _frame: object) -> None:
    # Once is enough: what follows is short, or the end.
    _answer(signal.SIG_IGN)
    raise _Told


def _answer(how: Callable[[int, object], None] | signal.Handlers) -> None:
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, how)


def _keep(folder: PodFolder, plan: Plan, log: Log, before: State) -> None:
    try:
        _answer(_leave)
        _make_and_hold(folder, plan, log, before)
    except _Told:
        if not folder.is_ending:
            _stop(folder, log)
            return
        log.add("told to end")
    except (PrimeError, Failed, OSError, subprocess.SubprocessError) as error:
        _fail(folder, plan, log, str(error))
        return
    except Exception as error:
        log.add(traceback.format_exc())
        _fail(folder, plan, log, f"{type(error).__name__}: {error}")
        raise
    _remove(folder, plan, log)


def _make_and_hold(folder: PodFolder, plan: Plan, log: Log, before: State) -> None:
    server = Server(folder, plan, log)
    stays = False
    try:
        over = False
        while not over:
            server.start(before)
            before = folder.change_state(
                status=ACTIVE,
                progress=100,
                login=server.login,
                port=server.port,
                host_key=server.host_key,
                sshd_pid=server.process.pid,
                sshd_start=server.process.start,
            )
            log.add(f"ready: {before.login}@{plan.host} -p {before.port}")
            over = _hold(folder, plan, server)
    except _Told:
        # Who starts the pod again takes its sshd over, if that is still there.
        stays = not folder.is_ending
        raise
    finally:
        if not stays:
            server.close()
    log.add("its time is over")


def _hold(folder: PodFolder, plan: Plan, server: Server) -> bool:
    """True at the deadline, False when an sshd that was taken over is there no more.

    Raises Failed when sshd ends by itself, and _Told when somebody wants the pod to end, or has
    removed its folder, with which nobody else could end it.
    """
    while (left := plan.stop_at - time.time()) > 0:
        select.select([server.said], [], [], min(left, _GLANCE))
        server.listen()
        server.require_running(reap())
        if folder.is_ending:
            raise _Told
        if server.is_lost():
            return False
    return True


def _stop(folder: PodFolder, log: Log) -> None:
    """Leave the pod as it is, to be started again by whoever looks at it next."""
    log.add("its keeper was told to go, and the pod is to stay")
    folder.change_state(status=STOPPED)


def _fail(folder: PodFolder, plan: Plan, log: Log, why: str) -> None:
    """Leave the folder, which says why, and nothing else."""
    _answer(signal.SIG_IGN)
    log.add(why)
    user = find_user(plan.user) if plan.user else None
    try:
        end_processes(folder, keeper=os.getpid(), user=user)
    except (PrimeError, OSError, subprocess.SubprocessError) as error:
        # Whoever looks at the pod is to know why it failed all the same.
        log.add(str(error))
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
