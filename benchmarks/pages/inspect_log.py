"""Write a log of inspect with so many samples; run by an interpreter that has inspect-ai.

    python inspect_log.py FOLDER SAMPLES

One sample is evaluated by inspect itself, with its mock model; the others are copies of it with
their own ids, questions and scores, as benchmarks/view makes ours.
"""

import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.scorer import match


def main() -> None:
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    task = inspect_ai.Task([Sample(input="q " * 200, target="yes")], scorer=match())
    (log,) = inspect_ai.eval(
        task, model="mockllm/model", log_dir=str(folder / "one"), display="none"
    )
    assert log.samples
    first = log.samples[0]
    log.samples = [
        first.model_copy(
            update={
                "id": number + 1,
                "uuid": f"sample-{number}",
                "input": f"question {number}: " + "words " * 60,
                "target": f"answer {number}",
            },
            deep=True,
        )
        for number in range(count)
    ]
    log.eval.dataset.samples = count
    log.eval.dataset.sample_ids = list(range(1, count + 1))
    if log.results:
        log.results.total_samples = log.results.completed_samples = count
    write_eval_log(log, str(folder / "logs" / "log.eval"))


main()
