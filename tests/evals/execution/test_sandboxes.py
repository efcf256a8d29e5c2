"""Environments that run code, with a model that calls their tools, on this machine.

`benchmarks/sandboxes/environments.py` does the same with more rollouts, and times them.
"""

from pathlib import Path

import pytest

from tests.helpers.engines import podman_with_python
from tests.helpers.sandbox_environments import INSTALLED, KINDS, NEWEST, SandboxCase, evaluate
from tests.helpers.tools import needs_bubblewrap

pytestmark = [pytest.mark.slow, needs_bubblewrap]

PROVIDERS = ("bubblewrap", "engine")
CASES = [
    f"{provider} {SandboxCase(kind, version, walls)}"
    for provider in PROVIDERS
    for kind in KINDS
    for version in ("0.1.8", "0.1.14", "0.3.0", NEWEST)
    for walls in (False, True)
]


@pytest.mark.sample(2, "case")
@pytest.mark.parametrize("case", CASES)
def test_rollouts_with_sandboxes_are_right_and_leave_nothing(
    case: str, home: Path, tmp_path: Path
) -> None:
    provider, kind, version, walls = case.split()
    chosen = SandboxCase(kind, version, walls != "open")
    packages = INSTALLED if (kind, version) == ("python", "0.1.8") else ()
    is_engine = provider == "engine"
    env = {"CONTAINER_HOST": podman_with_python(*packages).url} if is_engine else {}
    if chosen.is_walled and version.startswith("0.1"):
        # Some of its packages have to be built, which nothing is for `--sandbox`.
        evaluate(SandboxCase(kind, version), 2, home, tmp_path / "built", env)

    run = evaluate(chosen, 2, home, tmp_path, env)

    assert run.shown["reward"]["mean"] == 1.0, run.err
    assert f"Sandboxes: python:3.11-slim by {provider} on this machine" in run.err
    assert run.statuses == ["TERMINATED"] * 2
