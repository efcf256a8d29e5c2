"""Run folders for the tests of this folder, written as a run writes them."""

from pathlib import Path
from typing import Any

import msgspec

from prime_cli.runs.folder import Journal, RunFolder, new_run_folder, runs_folder
from prime_cli.runs.manifest import FINISHED, RunManifest, load_manifest, save_manifest
from prime_cli.runs.plan import EvalPlan, RunEnvironment
from prime_cli.runs.receipt import close_receipt, open_receipt
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.vf_eval_writer import write_results
from tests.runs.rows import row

PLAN = EvalPlan(
    environment=RunEnvironment("wordle", "1.2", "wordle", "ab" * 32, ref="ada/wordle@1.2"),
    model="org/model",
    endpoint="http://localhost:8000/v1",
    num_examples=2,
    rollouts_per_example=2,
    sampling={},
    env_args={},
    extra_args={},
)


def save_parts(cwd: Path, count: int, **more: Any) -> list[RunFolder]:
    """A run in `count` parts: an example each, whose rewards are their numbers."""
    return [
        save_part(cwd, f"{n}/{count}", row(n - 1, reward=n - 1.0), **more)
        for n in range(1, count + 1)
    ]


def save_part(cwd: Path, shard: str, *rows: Row, **more: Any) -> RunFolder:
    """One of the parts of a run with as many examples as parts, of a rollout each."""
    plan: EvalPlan = more.pop("plan", PLAN)
    examples = int(shard.partition("/")[2])
    sized = msgspec.structs.replace(plan, num_examples=examples, rollouts_per_example=1)
    told = {"examples": examples, "fingerprint": "f" * 64, "planned": 1, "unit": "rollout"} | more
    return save_run(cwd, *rows, plan=sized.with_option("shard", shard), **told)


def save_run(cwd: Path, *rows: Row, **manifest: Any) -> RunFolder:
    """A finished run of PLAN, or of another `plan`, below `cwd`."""
    told: dict[str, Any] = {
        "plan": PLAN,
        "started": "2026-01-02T03:04:05+00:00",
        "status": FINISHED,
        "planned": 4,
    } | manifest
    plan: EvalPlan = told["plan"]
    folder = new_run_folder(runs_folder(plan.environment.name, plan.model, cwd))
    save_manifest(folder.manifest, RunManifest(run_id=folder.run_id, **told), Scrubber({}))
    with Journal(folder.journal, Scrubber({})) as journal:
        for row in rows:
            journal.append(row)
    return folder


def save_receipt(folder: RunFolder) -> None:
    """Its results and its receipt, as of one session."""
    write_results(folder.journal, folder.results)
    started = load_manifest(folder.manifest).started
    open_receipt(folder, at=started)
    close_receipt(folder)


def save_trajectory(folder: Path) -> Path:
    """The folder of a rollout as another tool writes it, in ATIF."""
    step = {"step_id": 1, "source": "user", "message": "Hello"}
    agent = {"name": "some", "version": "1"}
    folder.mkdir(parents=True)
    written = msgspec.json.encode({"schema_version": "ATIF-v1.6", "agent": agent, "steps": [step]})
    (folder / "trajectory.json").write_bytes(written)
    return folder
