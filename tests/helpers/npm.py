"""Packages of npm that tests need, installed when they are asked for."""

import shutil
import subprocess
from pathlib import Path

import pytest


def install_npm_package(folder: Path, package: str) -> Path:
    """The `node_modules` in the new `folder` with `package`; without npm the test is skipped."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on this machine")
    folder.mkdir()
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", package]
    done = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        pytest.skip(f"npm cannot get {package}: {done.stderr[-300:]}")
    return folder / "node_modules"
