"""Real releases of verifiers: what the model's server sampled is exactly what the segments hold."""

import io
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from prime_cli.evals.execution.setup import RunTap
from prime_cli.training.dump import RolloutWriter
from prime_cli.wire.rollouts import TrainingRollout
from tests.helpers.environments import interpreter_with
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.vllm import Vllm, recorder_with
from tests.runtime.worker.runs import ENVIRONMENTS

RELEASES = {
    "0.1.5.post0": ("talk_old", "v0"),
    "0.1.8": ("talk_new", "v0"),
    "0.1.14": ("talk_new", "v0"),
    "0.4.0": ("guess_tasks", "v1"),
}


@pytest.mark.slow
@pytest.mark.sample(2, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_the_tokens_of_each_release_are_exactly_those_that_were_sampled(
    version: str, tmp_path: Path
) -> None:
    module, generation = RELEASES[version]
    source = Path(ENVIRONMENTS, f"{module}.py").read_text(encoding="utf-8")
    interpreter = interpreter_with(tmp_path, source, verifiers=version)
    interpreter = replace(interpreter, generation=generation)
    vllm = Vllm()
    writer = RolloutWriter(io.BytesIO(), recorder_with({"temperature": 1.0}))
    with ScriptedModel(vllm) as model:
        tap = RunTap(writer.recorder, writer.finished)
        run_live(tmp_path, interpreter, model.url, tap=tap, num_examples=1)
    assert isinstance(writer.out, io.BytesIO)
    lines = writer.out.getvalue().splitlines()
    rollouts = [msgspec.json.decode(line, type=TrainingRollout) for line in lines]
    assert sorted(line.rollout for line in rollouts) == [0, 1]
    for line in rollouts:
        turns = vllm.of(line.example, line.rollout)
        (segment,) = line.segments
        assert (line.error, len(turns)) == (None, 3)
        assert segment.ids == turns[-1].prompt + turns[-1].ids
        spans = [slice(span.start, span.end) for span in segment.spans]
        assert [segment.ids[span] for span in spans] == [turn.ids for turn in turns]
        assert [segment.logprobs[span] for span in spans] == [turn.logprobs for turn in turns]
        assert [segment.ids[: span.start] for span in spans] == [turn.prompt for turn in turns]
