"""Run an entry as a user would: with a folder and a home of its own, and its streams caught."""

import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from prime_cli.core.progress import Progress
from prime_cli.main import main
from prime_cli.session import Session
from tests.commands.walk.entry import SERVED, Entry
from tests.commands.walk.world import SERVED_URL, World
from tests.helpers.cli import Result
from tests.helpers.tools import require

_RUN = ("eval", "run", "tiny-env", "-m", "builtin/oracle", "-n", "2", "-r", "1")

SLOW = [
    pytest.mark.slow,
    # Connections to a package index are closed by the end of the process, which goes on here.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""How an entry is marked that makes interpreters."""


@dataclass
class Walker:
    """Runs commands in this process, each in a world; `variables` are set for all of them."""

    capture: pytest.CaptureFixture[str]
    variables: Mapping[str, str]
    progress: Progress | None = None

    def __call__(self, world: World, entry: Entry, words: str, *more: str) -> Result:
        with within(world, entry, self.variables, self.progress) as session:
            self.capture.readouterr()
            code = main([*world.filled(words), *more], session)
        out, err = self.capture.readouterr()
        if lacks := re.search(r"needs? (\S+), which is not installed", err):
            require(lacks[1])
        return Result(code, out, err)


@contextmanager
def within(
    world: World, entry: Entry, variables: Mapping[str, str], progress: Progress | None = None
) -> Iterator[Session]:
    """The process as if it had been started in the world, with the way to the entry's hub."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**_variables(world, entry), **variables, **dict(entry.env)}.items():
            if value:
                patch.setenv(name, value)
            else:
                patch.delenv(name, raising=False)
        patch.setattr(tempfile, "tempdir", str(world.root / "tmp"))
        patch.setattr("sys.stdin", io.StringIO(entry.stdin.format(key=world.key)))
        patch.chdir(world.here)
        transport = world.served_transport() if entry.hub == SERVED else None
        yield Session(transport, progress=progress)


@contextmanager
def world_for(entry: Entry, world: World, folder: Path) -> Iterator[World]:
    """A world of its own for what changes it, until the end of the block."""
    if not entry.changes:
        yield world
        return
    with TemporaryDirectory(dir=folder) as place:
        yield world.copy(Path(place) / "world")


def prepare(world: World) -> World:
    """The world with what `prime` itself makes: a login, an installation, an evaluation, a lock."""
    here, team = Entry(""), Entry("", hub=SERVED, stdin="{key}", env=(("PRIME_CONTEXT", ""),))
    login = ("login", "--token-stdin", "--hub", SERVED_URL, "--name", "team", "--storage", "file")
    _call(world, team, *login)
    _call(world, here, "env", "lock", "ada/tiny-env@0.1.0", "--offline")
    _call(world, here, "env", "install", "ada/tiny-env@0.1.0")
    _call(world, here, "hub", "backup", str(world.backup), "--data", str(world.served))
    pushed = _call(world, here, "eval", "push", world.run, "--output", "json")
    return replace(world, evaluation=pushed.json["evaluation_id"])


def with_run(world: World) -> World:
    """The world with a run of its own project, which makes an interpreter (slow)."""
    made = _call(world, Entry(""), *_RUN, "--output", "json")
    return replace(world, made=made.json["run_id"])


def _call(world: World, entry: Entry, *argv: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with (
        within(world, entry, {"NO_COLOR": "1"}) as session,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main(argv, session)
    return Result(code, out.getvalue(), err.getvalue()).ok()


def _variables(world: World, entry: Entry) -> dict[str, str]:
    variables = {
        "HOME": str(world.root),
        "USERPROFILE": str(world.root),
        "PRIME_HOME": str(world.home),
        "PRIME_OWNER": "ada",
        "PRIME_UPSTREAM": "none",
        "TMPDIR": str(world.root / "tmp"),
        "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR") or f"{os.environ['HOME']}/.cache/uv",
        "PRIME_CONTEXT": "local",
    }
    if entry.hub == SERVED:
        variables["PRIME_CONTEXT"] = "team"
    return variables
