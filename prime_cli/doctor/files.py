"""File permissions, what crashed processes left behind, and completion scripts."""

import os
import shlex
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from prime_cli.core.errors import Conflict, PrimeError
from prime_cli.core.file_locks import try_lock
from prime_cli.core.formatting import first_few, pluralize
from prime_cli.doctor.base import Finding, System, failed, ok, skipped, warned
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import RUNNING, STOPPED
from prime_cli.shells.detection import completion_paths
from prime_cli.shells.installation import plan_installation

_PERMISSIONS = "modes"

_SECRET = ("credentials.toml", "config.json", "hub/secret.key")

"""They hold keys; `config.json` is the official client's."""

_PRIVATE = ("config.toml", "hub", "hub/hub.db")

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_permissions(system: System) -> list[Finding]:
    """Failed where a key can be read by others, a warning where anything else can be."""
    if sys.platform == "win32":
        return [skipped(_PERMISSIONS, "Windows has no modes; the home folder is the user's own")]
    if not system.home.exists():
        return [ok(_PERMISSIONS, f"{system.home} is not there yet")]
    foreign = [path for path in _present(system.home) if path.stat().st_uid != os.getuid()]
    if foreign:
        user, paths = os.getuid(), shlex.join(map(str, foreign))
        sentence = f"{first_few(foreign)} {_verb(foreign)} to another user"
        return [failed(_PERMISSIONS, sentence, f"`sudo chown -R {user} {paths}`")]
    return [_judge(system.home)]


def _judge(home: Path) -> Finding:
    if not home.stat().st_mode & _OTHERS:
        # What is in a closed folder is closed, whatever its own mode.
        return ok(_PERMISSIONS, f"{home} is closed to others")
    open_ones = [path for path in _present(home) if path.stat().st_mode & _OTHERS]
    secrets = [path for path in open_ones if path in {home / name for name in _SECRET}]
    folders = [path for path in open_ones if path.is_dir()]
    files = [path for path in open_ones if not path.is_dir()]
    fix = "; ".join(
        f"`chmod {mode} {shlex.join(map(str, paths))}`"
        for mode, paths in (("700", folders), ("600", files))
        if paths
    )
    if secrets:
        return failed(_PERMISSIONS, f"Others can read {first_few(secrets)}, with a key within", fix)
    return warned(_PERMISSIONS, f"Others can read {first_few(open_ones)}", fix)


def _present(home: Path) -> Iterator[Path]:
    yield home
    for name in (*_SECRET, *_PRIVATE):
        if (path := home / name).exists():
            yield path


def _verb(paths: list[Path]) -> str:
    return "belongs" if len(paths) == 1 else "belong"


_OLD = 24 * 3600

"""Seconds after which nobody is still writing what is half there."""

_MOST_NAMED = 3


def check_leftovers(system: System) -> list[Finding]:
    """One finding each for locks, for runs below this folder and for the halves in prime's home."""
    return [_locks(system.home), _runs(system.here), _halves(system.home, time.time())]


def _locks(home: Path) -> Finding:
    held = [path.name for path in sorted(home.glob("*.lock")) if _is_held(path)]
    if not held:
        return ok("locks", "None is held, and none can outlive its holder")
    sentence = f"Another process holds {', '.join(held)} in {home}"
    return warned("locks", sentence, "wait for it to end; `ps` shows other commands of prime")


def _is_held(path: Path) -> bool:
    try:
        with path.open("r+b") as file:
            return not try_lock(file)
    except OSError:
        return False  # not ours to open: told by the check of modes


def _runs(here: Path) -> Finding:
    runs = list_runs(here)
    stopped = [run.run_id for run in runs if run.status == STOPPED]
    if stopped:
        sentence = (
            f"{pluralize(len(stopped), 'run')} here ended without a word: {first_few(stopped)}"
        )
        fix = "run the same command again with `--resume`, or `rm -r` what nobody wants"
        return warned("runs", sentence, fix)
    going = sum(run.status == RUNNING for run in runs)
    return ok("runs", f"{going} under way here" if going else "None here was broken off")


def _halves(home: Path, now: float) -> Finding:
    old = [path for path in _candidates(home) if _age(path, now) > _OLD]
    if not old:
        return ok("halves", f"Nothing half written is left in {home}")
    told = first_few([path.name for path in old], _MOST_NAMED)
    names = shlex.join(str(path) for path in old[:_MOST_NAMED])
    more = " …" if len(old) > _MOST_NAMED else ""
    return warned(
        "halves",
        f"{pluralize(len(old), 'half-written thing')} left in {home}: {told}",
        f"`rm -r {names}`{more}",
    )


def _candidates(home: Path) -> Iterator[Path]:
    for folder in (home, home / "hub", home / "cache", home / "locks"):
        yield from folder.glob(".*.tmp")
    # Made beside the digest that they would have been published under.
    yield from (home / "interpreters").glob(".????????????????????????????????.*")


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0  # gone meanwhile


_COMPLETION = "completion"

_SHELLS = ("bash", "zsh", "fish")

"""PowerShell would have to be started to be asked where its profile is."""


def check_completion(system: System) -> list[Finding]:
    """One warning for each shell whose script is older than this prime, or is not read."""
    if system.script is None:
        return [skipped(_COMPLETION, "Nobody types here")]
    try:
        home = Path.home()
    except RuntimeError:
        return [skipped(_COMPLETION, "There is no home folder for a shell's files")]
    stale, installed = [], []
    for shell in _SHELLS:
        there = completion_paths(shell, home=home, prime_home=system.home, environ=system.environ)
        if not there.script.exists():
            continue
        try:
            changes = plan_installation(there, system.script(shell))
        except Conflict:
            continue  # somebody else's
        except PrimeError as error:
            stale.append(warned(_COMPLETION, error.message, error.hint or "make it readable"))
            continue
        if changes:
            what = "does not read its script" if changes[0].is_users else "is not this prime's"
            sentence = f"Completion for {shell} {what}"
            stale.append(warned(_COMPLETION, sentence, f"`prime completion install {shell}`"))
        installed.append(shell)
    if stale:
        return stale
    if installed:
        return [ok(_COMPLETION, f"Installed for {', '.join(installed)}")]
    return [ok(_COMPLETION, "Not installed; `prime completion install` does that")]
