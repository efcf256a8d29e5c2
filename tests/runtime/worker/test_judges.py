"""What real environments declare of their judges, and what of it changes when they do."""

from pathlib import Path
from typing import Any

import pytest

from prime_cli.runtime.protocol import JudgeInfo
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.venvs import venv_python
from tests.runtime.worker.runs import run_worker, small_spec, spec_for


def declared(
    version: str, module: str, model: ScriptedModel, log: Path, **spec: Any
) -> list[JudgeInfo]:
    generation = "v0" if version < "0.3" else "v1"
    python = venv_python(f"verifiers=={version}")
    said = run_worker(spec_for(model, module, generation=generation, n=1, r=1, **spec), log, python)
    assert said.rewards == {(0, 0): 1.0}
    return said.started.judges


@pytest.mark.slow
@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", ["0.1.2", "0.1.8", "0.1.14"])
def test_a_judge_rubric_tells_its_prompt_model_and_sampling(
    version: str, model: ScriptedModel, log: Path
) -> None:
    def told(**args: Any) -> JudgeInfo:
        (found,) = declared(version, "judge_rubric", model, log, args=args)
        return found

    first = told()
    assert first.model == "judge"
    assert told() == first
    warmer, stricter = told(temperature=1.0), told(prompt="Is {response} exactly {answer}?")
    assert (warmer.prompt == first.prompt, warmer.sampling == first.sampling) == (True, False)
    assert (stricter.prompt == first.prompt, stricter.sampling == first.sampling) == (False, True)


@pytest.mark.network
@pytest.mark.parametrize("version", ["0.4.0", pytest.param("0.3.1", marks=pytest.mark.slow)])
def test_a_judge_config_tells_the_text_of_its_prompt_file(
    version: str, model: ScriptedModel, log: Path, tmp_path: Path
) -> None:
    """Its path is an argument, its text is not."""
    prompt = tmp_path / "prompt.txt"

    def told(text: str, **judge: Any) -> JudgeInfo:
        prompt.write_text(text, encoding="utf-8")
        judge |= {"model": "judge", "prompt": str(prompt)}
        judge |= {"base_url": model.url, "api_key_var": "OPENAI_API_KEY"}
        extra = {"taskset": {"task": {"judge": judge}}}
        (found,) = declared(version, "judge_config_tasks", model, log, extra=extra)
        return found

    first = told("Is it {response}?")
    assert first.model == "judge"
    assert told("Is it {response}?") == first
    stricter = told("Is it exactly {response}?")
    assert (stricter.prompt == first.prompt, stricter.sampling == first.sampling) == (False, True)
    warmer = told("Is it {response}?", sampling={"temperature": 0.7})
    assert (warmer.prompt == first.prompt, warmer.sampling == first.sampling) == (True, False)


def test_an_environment_without_a_judge_declares_none(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, n=1), log)
    assert said.started.judges == []
