"""Pages of local runs and trainings are bounded, however much is in them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from prime_cli.runs.rows import Failure, Row
from prime_cli.training.record import Evaluation, TrainingFacts
from prime_cli.training.trainer_events import METRICS
from prime_cli.web.application import create_application
from prime_cli.web.library import Library
from tests.helpers.training import TRAINING_PLAN
from tests.pages.measuring import QUOTES, require_bounded
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run


def heavy(example: int, rollout: int = 0) -> Row:
    """A rollout with more than a page has room for of everything."""
    call = {"id": "c", "function": {"name": QUOTES * 300, "arguments": {"a": QUOTES * 9_000}}}
    tokens = [{"token": QUOTES * 60, "logprob": -n / 900} for n in range(4_000)]
    said = [
        {
            "role": "assistant",
            "content": "&" * 20_000,
            "reasoning": QUOTES * 20_000,
            "tool_calls": [call | {"id": f"c{n}"}],
            "logprobs": {"content": tokens},
        }
        if n % 2
        else {"role": "tool", "tool_call_id": f"c{n - 1}", "content": json.dumps({"a": [n] * 900})}
        for n in range(1, 9)
    ]
    return row(
        example,
        rollout,
        None,
        prompt="&" * 30_000,
        completion=said,
        answer=json.dumps({f"{QUOTES * 90}{n}": QUOTES * 90 for n in range(300)}),
        info={QUOTES: QUOTES * 30_000},
        task=QUOTES * 30_000,
        metrics={f"{QUOTES * 90}{n}": n / 7 for n in range(300)},
        state={f"{QUOTES * 90}{n}": QUOTES * 4_000 for n in range(40)}
        | {"logprobs": {"content": tokens}},
        error=Failure("infra" * 9, QUOTES * 300, QUOTES * 20_000, traceback=QUOTES * 20_000),
        stop_condition=QUOTES * 3_000,
    )


def light(example: int, rollout: int = 0, *, run: int = 0) -> Row:
    reward = None if (example + rollout) % 7 == 1 else (example + run) % 9 / 9
    error = Failure("infra", f"{QUOTES * 90}{example % 80}", QUOTES * 600)
    metrics = {f"{QUOTES * 90}{n}": example / (n + 1) for n in range(40)} if example < 200 else {}
    more: dict[str, Any] = {"error": error} if reward is None else {}
    return row(example, rollout, reward, metrics=metrics, is_truncated=True, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[str]:
    """Runs of many examples, of one with many rollouts, and four of heavy ones."""
    labels = {"tags": (QUOTES * 500,) * 100, "note": QUOTES * 9_000}
    saved = [
        save_run(folder, *(light(n) for n in range(10_000)), labels=labels),
        save_run(folder, *(light(0, n) for n in range(2_000)), *(light(n) for n in range(1, 30))),
    ]
    rows = [*(heavy(0, n) for n in range(3)), *(heavy(n) for n in range(1, 3))]
    return [each.run_id for each in (*saved, *(save_run(folder, *rows) for _ in range(4)))]


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create_application(Library(folder), Starlette())
    with TestClient(app, base_url="http://127.0.0.1:8800") as client:
        yield client


def test_the_page_of_a_run_is_bounded(client: TestClient, runs: list[str]) -> None:
    for name in runs[:3]:
        require_bounded(client, f"/runs/{name}")


def test_the_page_of_a_rollout_is_bounded(client: TestClient, runs: list[str]) -> None:
    name = runs[2]
    require_bounded(client, f"/runs/{name}/rollouts/0.1")
    for turn in range(1, 7):
        require_bounded(client, f"/runs/{name}/rollouts/0.1?from={turn}")
    require_bounded(client, f"/runs/{name}/rollouts/0.1/tokens?at=/state/logprobs")
    require_bounded(client, f"/runs/{runs[1]}/rollouts/0.700")


@pytest.mark.slow
def test_runs_side_by_side_are_bounded(client: TestClient, runs: list[str]) -> None:
    chosen = "&".join(f"run={name}" for name in runs[2:6])
    require_bounded(client, f"/compare?{chosen}&force=1")
    require_bounded(client, f"/compare/0.0?{chosen}")
    large = "&".join(f"run={name}" for name in runs[:2])
    require_bounded(client, f"/compare?{large}&force=1")
    require_bounded(client, f"/compare/0.1?{large}")


@pytest.mark.slow
def test_the_list_of_runs_is_bounded(client: TestClient, tmp_path: Path) -> None:
    for number in range(250):
        plan = msgspec.structs.replace(PLAN, model=f"{QUOTES * 150}{number % 5}")
        save_run(tmp_path, light(0), plan=plan)
    app = create_application(Library(tmp_path), Starlette())
    with TestClient(app, base_url="http://127.0.0.1:8800") as many:
        require_bounded(many, "/runs")


@pytest.mark.slow
def test_the_page_of_a_training_is_bounded(tmp_path: Path) -> None:
    environments = tuple(f"ada/{'e' * 60}{n}" for n in range(40))
    done = tuple(
        Evaluation(
            step=n, path=f"gone-{QUOTES * 90}{n}", reward=n / 9, environment=environments[n % 40]
        )
        for n in range(400)
    )
    facts = TrainingFacts(plan=TRAINING_PLAN, step=500, evaluations=done, environments=environments)
    rows = [row(n, state={"step": n}, completion=QUOTES * 900) for n in range(100)]
    folder = save_run(tmp_path, *rows, training=msgspec.to_builtins(facts))
    steps = [
        {
            "step": n,
            "reward": n / 4,
            "kl": n / 7,
            "loss": 1 / (n + 1),
            "extra": {f"{QUOTES * 90}{k}": n / (k + 1) for k in range(60)},
            "rewards": dict.fromkeys(environments, n / 7),
        }
        for n in range(500)
    ]
    lines = "".join(json.dumps(step) + "\n" for step in steps)
    (folder.path / METRICS).write_text(lines, encoding="utf-8")
    app = create_application(Library(tmp_path), Starlette())
    with TestClient(app, base_url="http://127.0.0.1:8800") as client:
        require_bounded(client, f"/trainings/{folder.run_id}")
