"""A run of a hub's environment goes on with the version that it had."""

from pathlib import Path

from prime_cli.core.progress import Silent
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.prepare import PreparedRun, prepare
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.resume.candidates import request_of_run
from prime_cli.evals.resume.compatibility import require_same
from prime_cli.runs.manifest import RunManifest
from tests.helpers.hubs import open_hub, publish


def test_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    hub = open_hub(tmp_path / "hub")
    lookup = LookupContext(cwd=tmp_path, hub=lambda: hub, owner="ada")
    publish(hub, tmp_path / "old", "wordle", version="0.1.0")

    def prepared(request: EvalRequest, run: RunManifest | None = None) -> PreparedRun:
        before = run.plan.environment if run is not None else None
        return prepare(request, lookup, {}, Silent(), before=before)

    typed = EvalRequest(environment="ada/wordle", model="builtin/oracle", num_examples=3)
    first = prepared(typed)
    run = RunManifest(
        run_id="1f2e3d4c",
        plan=first.plan,
        started="2026-01-01T00:00:00+00:00",
        asked=first.asked,
    )
    files = {"wordle.py": "def load_environment():\n    return 'another one'\n"}
    publish(hub, tmp_path / "new", "wordle", version="0.2.0", files=files)
    assert prepared(typed).plan.environment.version == "0.2.0"
    for request in (EvalRequest(environment=""), EvalRequest(environment="ada/wordle")):
        again = prepared(request_of_run(request, run), run)
        require_same(run, again.plan)
        assert again.plan == first.plan
