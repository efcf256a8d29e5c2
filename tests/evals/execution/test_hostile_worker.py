"""Whole runs against a hostile endpoint: they end, and score as against a calm one."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.models.gateway.retries import RetryPolicy
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.runtime.protocol import WorkerSpec
from tests.evals.execution.hostile_endpoint import Driven, drive, seed_of_today, sometimes_wrong
from tests.helpers.hostile_model import HANGS, INVALID_JSON, NO_CHOICES, TROUBLE, Hostile
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.venvs import venv_python
from tests.runtime.worker.runs import small_spec, spec_for

pytestmark = pytest.mark.slow

PATIENT = RetryPolicy(*(40,) * 6, first_s=0.01, longest_s=0.05)
HASTY = RetryPolicy(*(1,) * 6, first_s=0.01, longest_s=0.05)
# Long enough for a busy machine; a hang costs as much.
CALL_S = 5.0

EXAMPLES, ROLLOUTS = 12, 2
WRONG = 4 * ROLLOUTS
NOBODY = ScriptedModel()


def small() -> WorkerSpec:
    spec = small_spec(NOBODY, n=EXAMPLES, r=ROLLOUTS, args={"count": EXAMPLES})
    return msgspec.structs.replace(spec, concurrency=8)


def v1() -> WorkerSpec:
    spec = spec_for(NOBODY, "echo_tasks", n=EXAMPLES, r=ROLLOUTS, generation="v1")
    return msgspec.structs.replace(spec, args={"count": EXAMPLES}, concurrency=8)


def check(driven: Driven, *, right: float) -> None:
    """Every rollout is scored once, and as it deserves; every answer is counted."""
    print(f"the endpoint: {driven.met}")
    assert driven.said.ended.ok
    expected = {
        (e, r): 0.0 if e % 3 == 0 else right for e in range(EXAMPLES) for r in range(ROLLOUTS)
    }
    assert driven.said.rewards == expected
    assert [row.error for row in driven.said.rollouts] == [None] * (EXAMPLES * ROLLOUTS)
    # Each question and each answer has two words, and only the calm answers say what they used.
    assert (driven.used.input, driven.used.output) == (2 * driven.met["calm"],) * 2
    answered = sum(driven.met.get(kind, 0) for kind in ("calm", INVALID_JSON, NO_CHOICES))
    assert driven.used.calls >= answered
    assert sum(driven.met.values()) == driven.calls


@pytest.mark.sample(2, "kind")
@pytest.mark.parametrize("kind", TROUBLE)
def test_trouble_of_one_kind_changes_no_score(kind: str, tmp_path: Path) -> None:
    hostile = Hostile(seed_of_today(), (kind,), calm=sometimes_wrong)
    settings = GatewaySettings(CALL_S, PATIENT, limits_folder=tmp_path)
    check(drive(small(), hostile, settings, tmp_path / "worker.log"), right=1.0)


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_all_kinds_at_once_change_no_score(rate: float, tmp_path: Path) -> None:
    hostile = Hostile(seed_of_today(), rate=rate, calm=sometimes_wrong)
    settings = GatewaySettings(CALL_S, PATIENT, limits_folder=tmp_path)
    check(drive(small(), hostile, settings, tmp_path / "worker.log"), right=1.0)


@pytest.mark.sample(2, "kind")
@pytest.mark.parametrize("kind", TROUBLE)
def test_trouble_that_lasts_is_the_infrastructures_and_never_a_score(
    kind: str, tmp_path: Path
) -> None:
    hostile = Hostile(1, (kind,), rate=1.0)
    settings = GatewaySettings(0.5 if kind == HANGS else CALL_S, HASTY)
    spec = msgspec.structs.replace(small(), n=2, r=1, args={"count": 2})
    driven = drive(spec, hostile, settings, tmp_path / "worker.log")
    assert driven.said.rewards == {(0, 0): None, (1, 0): None}
    errors = [row.error for row in driven.said.rollouts]
    assert [error and (error.kind, error.retryable) for error in errors] == [("infra", True)] * 2
    assert driven.calls == 4
    assert driven.said.ended.ok


@pytest.mark.slow
@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", ["0.4.0", "0.3.1"])
def test_v1_scores_as_against_a_calm_endpoint(version: str, tmp_path: Path) -> None:
    hostile = Hostile(seed_of_today(), calm=sometimes_wrong)
    settings = GatewaySettings(CALL_S, PATIENT, limits_folder=tmp_path)
    python = venv_python(f"verifiers=={version}")
    check(drive(v1(), hostile, settings, tmp_path / "worker.log", python), right=2.0)


@pytest.mark.slow
@pytest.mark.sample(2, "kind")
@pytest.mark.parametrize("kind", TROUBLE)
def test_v1_blames_the_infrastructure_for_trouble_that_lasts(kind: str, tmp_path: Path) -> None:
    hostile = Hostile(1, (kind,), rate=1.0)
    settings = GatewaySettings(0.5 if kind == HANGS else CALL_S, HASTY)
    spec = msgspec.structs.replace(v1(), n=1, r=1)
    python = venv_python("verifiers==0.4.0")
    driven = drive(spec, hostile, settings, tmp_path / "worker.log", python)
    (row,) = driven.said.rollouts
    assert row.reward is None
    assert row.error is not None
    assert row.error.kind == "infra"
