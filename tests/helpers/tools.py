"""Programs that tests need: without one a test is skipped, but in `.ci/run`, which installs all, it
fails."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from prime_cli.runtime.uv_tool import find_uv
from tests.helpers.venvs import python_at_hand

ON_CI = os.environ.get("CI") == "true"
"""Read when this is imported, since each test is given an environment without it."""


def needs(program: str) -> pytest.MarkDecorator:
    """Marks tests that start `program`."""
    return pytest.mark.skipif(
        shutil.which(program) is None and not ON_CI, reason=f"{program} is not on this machine"
    )


def require(*programs: str) -> str:
    """The path of the first of `programs` that is there, asked for within a test."""
    found = next(filter(None, map(shutil.which, programs)), None)
    if found is None:
        say = pytest.fail if ON_CI else pytest.skip
        say(f"{programs[0]} is not on this machine")
    return found


def require_python(version: str) -> str:
    """The path of an interpreter of `version` (`3.11`), asked for within a test.

    A system has packages of one Python, so CI skips these tests too where it is another.
    """
    found = python_at_hand(version)
    return found or pytest.skip(f"Python {version} is not on this machine")


def require_package(requirement: str) -> None:
    """Skip where no package index has `requirement`, or none is reached."""
    with tempfile.TemporaryDirectory() as folder:
        words = [find_uv(), "pip", "install", "--dry-run", "--no-deps", "--target", folder]
        command = [*words, requirement]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        pytest.skip(f"no package index has {requirement}: {done.stderr.strip()[-300:]}")


def require_terminal() -> None:
    """Skip where there is no pty with a controlling session to be had."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs a pty and setsid, as Linux has them")
    require("setsid")


needs_root = pytest.mark.skipif(
    (not hasattr(os, "geteuid") or os.geteuid() != 0) and not ON_CI, reason="only root may do that"
)
"""Marks tests that make system users, or give files away."""

needs_bubblewrap = needs("bwrap")
