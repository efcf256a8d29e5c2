"""Tests that need the sandbox: skipped where bubblewrap is missing, but never under CI."""

import os
import shutil

import pytest

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("CI"),
    reason="needs bubblewrap (`apt install bubblewrap`)",
)
