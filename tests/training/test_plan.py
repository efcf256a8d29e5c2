"""The plan of rollouts for training: training data, at the temperature of training."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from prime_cli.archive.wheels import WheelFacts
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.models.endpoints import Endpoint
from prime_cli.runtime.packages import WheelPackage
from prime_cli.training.plan import for_training
from tests.helpers.live_run import PLAN, prepared_run

Generation = Literal["v0", "v1"]


def prepared(exposes: Generation, **plan: Any) -> PreparedRun:
    found = prepared_run(msgspec.structs.replace(PLAN, **plan), Endpoint("scripted"))
    facts = WheelFacts("nowhere.whl", "tiny-env", "0.1.0", exposes=exposes)
    package = WheelPackage(Path("nowhere.whl"), "ab" * 32, facts)
    return replace(found, subject=replace(found.subject, package=package))


@pytest.mark.parametrize(
    ("exposes", "options", "split"),
    [
        ("v0", msgspec.UNSET, "train"),
        ("v0", {"split": "eval"}, "eval"),
        ("v0", {"shuffle": 3}, "train"),
        ("v1", msgspec.UNSET, None),
    ],
)
def test_v0_environments_use_their_training_data_unless_told_otherwise(
    exposes: Generation, options: Any, split: str | None
) -> None:
    plan = for_training(prepared(exposes, options=options)).plan
    assert plan.option("split") == split
    assert plan.option("shuffle") == (3 if options == {"shuffle": 3} else None)


@pytest.mark.parametrize("name", ["split", "dataset_split"])
def test_a_split_among_the_environments_own_arguments_is_enough(name: str) -> None:
    plan = for_training(prepared("v0", env_args={name: "validation"})).plan
    assert plan.option("split") is None


@pytest.mark.parametrize(("sampling", "temperature"), [({}, 1.0), ({"temperature": 0.7}, 0.7)])
def test_the_temperature_is_one_unless_another_is_asked_for(
    sampling: dict[str, Any], temperature: float
) -> None:
    plan = for_training(prepared("v0", sampling=sampling)).plan
    assert plan.sampling["temperature"] == temperature
