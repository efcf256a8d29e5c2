"""Asking a running evaluation, from another process of its user."""

import getpass
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, PrimeError, Unreachable
from prime_cli.core.progress import Progress
from prime_cli.evals.control.messages import (
    Action,
    ControlRequest,
    Refusal,
    RunState,
    decode_answer,
    encode_line,
)
from prime_cli.evals.control.server import control_socket
from prime_cli.runs.listing import find_run, list_for_trainers, list_runs
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.saved_run import SavedRun, open_run

EVERY = 0.5
"""Seconds between two looks at a run that is watched."""

SECONDS = 30.0
"""How long an answer may take: a run that scores without awaiting answers later."""


class RunControl:
    """Controls the run in `folder`; every method returns its state after the change.

    All raise Conflict for a run that has ended or that cannot do so now, NotAllowed for that of
    another user, Unreachable where nobody listens, NotFound for a rollout that it does not have.
    """

    def __init__(self, saved: SavedRun, seconds: float = SECONDS) -> None:
        self._saved, self._seconds = saved, seconds

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._saved.folder.run_id

    @property
    def folder(self) -> str:
        """Where the run is saved."""
        return str(self._saved.folder.path)

    @property
    def title(self) -> str:
        """Which environment is run with which model."""
        manifest = self._saved.manifest
        plan = None if manifest is None else manifest.plan
        return self.run_id if plan is None else f"{plan.environment.name} with {plan.model}"

    def status(self) -> RunState:
        """Its state, which stays as it is."""
        return self.ask(ControlRequest("status"))

    def pause(self) -> RunState:
        """Hold model calls, and start no rollout; deadlines do not count meanwhile."""
        return self._do("pause")

    def resume(self) -> RunState:
        """Go on after a pause."""
        return self._do("resume")

    def set(self, concurrency: int | None = None, max_cost: float | None = None) -> RunState:
        """Change how many rollouts run at a time, or the cap in USD; raises UsageError."""
        request = ControlRequest("set", concurrency=concurrency, max_cost=max_cost)
        return self.ask(request)

    def drain(self) -> RunState:
        """Finish what runs and start nothing more; a resume continues."""
        return self._do("drain")

    def cancel(self, example: int, rollout: int | None = None) -> RunState:
        """End a rollout, or all of an example, without a score and without an error."""
        return self.ask(ControlRequest("cancel", example=example, rollout=rollout))

    def retry(self, example: int, rollout: int | None = None) -> RunState:
        """Run again what was cancelled or ended in an error: a rollout, or all of an example."""
        return self.ask(ControlRequest("retry", example=example, rollout=rollout))

    def _do(self, action: Action) -> RunState:
        return self.ask(ControlRequest(action))

    def ask(self, request: ControlRequest) -> RunState:
        """Send a request, signed with this user's name."""
        self._require_reachable()
        request = msgspec.structs.replace(request, by=getpass.getuser())
        try:
            path = control_socket(self._saved.folder.path)
            answer = decode_answer(_exchange(path, encode_line(request), self._seconds))
        except (OSError, msgspec.MsgspecError) as error:
            raise self._silent(error) from error
        if isinstance(answer, Refusal):
            raise answer.error()
        return answer

    def look(self) -> RunState | SavedRun | None:
        """Its state now; the run once it has ended, None while it does not answer."""
        now = open_run(self._saved.folder.path)
        if _has_ended(now):
            return now
        try:
            return RunControl(now).status()
        except Unreachable:
            return None
        except Conflict:
            if _has_ended(now := open_run(self._saved.folder.path)):
                return now
            raise

    def _require_reachable(self) -> None:
        saved, run = self._saved, self._saved.folder.run_id
        if _has_ended(saved):
            raise _ended(saved)
        host, here = _host(saved), socket.gethostname()
        if host not in (None, here):
            raise Conflict(
                f"Run {run} is running on {host}, and this is {here}",
                hint=f"ask there: `ssh {host} prime eval ctl status {saved.folder.path}`",
            )
        owner = saved.folder.lock.stat().st_uid
        if sys.platform != "win32" and owner != os.getuid():
            raise NotAllowed(
                f"Run {run} is that of another user ({owner}), who alone can steer it",
                hint="ask them, or start a run of your own",
            )

    def _silent(self, error: Exception) -> PrimeError:
        """Why nobody answered: the run may have ended meanwhile."""
        now = self._saved.renewed()
        if now.status != RUNNING:
            return _ended(now)
        return Unreachable(
            f"Run {now.folder.run_id} is running, but does not answer: {error}",
            hint="it may still be starting: try again in a moment, or stop it with Ctrl-C there",
        )


def _host(saved: SavedRun) -> str | None:
    """The machine where it was last worked on, if that is known."""
    sessions = () if saved.manifest is None else saved.manifest.sessions
    return sessions[-1].host if sessions else None


def _has_ended(saved: SavedRun) -> bool:
    """Whether nobody works on it; what is locked elsewhere looks as if nobody did."""
    if saved.manifest is None or saved.manifest.status != RUNNING:
        return True
    return _host(saved) in (None, socket.gethostname()) and saved.status != RUNNING


def _ended(saved: SavedRun) -> Conflict:
    run, message = saved.folder.run_id, f"does not run: it is {saved.status}"
    look, onward = f"`prime eval show {run}`", f"`prime eval run --resume {run}`"
    if saved.manifest is not None and isinstance(saved.manifest.training, dict):
        look, onward = f"`prime train show {run}`", f"`prime train --resume {run}`"
    return Conflict(f"Run {run} {message}", hint=f"{look} or {onward}")


def _exchange(path: Path, line: bytes, seconds: float) -> bytes:
    """The line that is answered to `line`; raises OSError."""
    if sys.platform == "win32":
        raise OSError("there are no Unix sockets on Windows")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(seconds)
        caller.connect(str(path))
        caller.sendall(line)
        with caller.makefile("rb") as file:
            answer = file.readline()
    if not answer:
        raise ConnectionResetError("it closed the connection")
    return answer


def follow(control: RunControl, progress: Progress, hear: Callable[[RunState], None]) -> SavedRun:
    """Show how a run goes on, as where it was started; returns it once it has ended.

    `hear` is called with each state that differs from the last. Raises as a RunControl.
    """
    with progress.task(control.title, unit="rollouts") as task:
        known, ended = None, 0
        while not isinstance(now := control.look(), SavedRun):
            if now is None:
                task.update(alert="it does not answer")
            else:
                task.advance(now.ended - ended)
                task.update(total=now.total, note=now.note, alert="")
                ended = now.ended
                if now.place != known:
                    known = now.place
                    hear(now)
            time.sleep(EVERY)
        if now.manifest is not None and now.manifest.counts is not None:
            task.advance(now.manifest.counts.ended - ended)
    return now


def control_of(wanted: str | None, cwd: Path) -> RunControl:
    """The control of the run or training with this id or folder.

    By default of the newest evaluation that is running, else of the newest training.

    Raises NotFound, and UsageError where several ids begin so.
    """
    if wanted is None:
        running = [item for item in list_runs(cwd) if item.status == RUNNING]
        trained = (item for item in list_for_trainers(cwd) if item.status == RUNNING)
        newest = running[0] if running else max(trained, key=lambda item: item.date, default=None)
        if newest is None:
            raise NotFound(
                "No evaluation or training is running here",
                hint="name one by its folder, or see `prime eval list`",
            )
        wanted = newest.path
    return RunControl(find_run(wanted, cwd))
