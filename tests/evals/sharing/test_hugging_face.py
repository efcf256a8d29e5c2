import pytest
from huggingface_hub.utils._validators import validate_repo_id
from hypothesis import given

from prime_cli.evals.sharing.hugging_face import dataset_name
from tests.runs.export.hostile import texts
from tests.runs.export.test_page import summary


def named(environment: str, model: str) -> str:
    told = summary(model=model, num_examples=5, rollouts_per_example=3)
    return dataset_name(told, environment)


def test_the_name_is_that_of_vf_eval() -> None:
    assert named("wordle", "openai/gpt-4.1-mini") == "wordle_openai_gpt-4.1-mini_n5_r3"


@pytest.mark.parametrize("model", ["a" * 300, "builtin/replay:1f2e--3d", "..", "-", "./x.git"])
def test_any_model_makes_a_name_that_the_hub_takes(model: str) -> None:
    validate_repo_id(named("wordle", model))


@given(texts, texts)
def test_any_text_makes_a_name_that_the_hub_takes(environment: str, model: str) -> None:
    validate_repo_id(named(environment, model))
