"""The same questions as a task of inspect_ai: python inspect_task.py URL ROLLOUTS CONCURRENCY."""

import os
import sys

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate
from writing import write_rewards

url, rollouts, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ.update(OPENAI_API_KEY="bench", OPENAI_BASE_URL=url)
samples = [Sample(input=f"Say back: word{n}", target=f"word{n}") for n in range(rollouts)]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=exact())
(log,) = evaluate(
    task,
    model="openai/mock",
    # Its default, the Responses API, is not what the other contestants call.
    model_args={"responses_api": False},
    max_connections=concurrency,
    max_samples=concurrency,
    display="none",
    log_dir="logs",
)
scored = [sample.scores["exact"].value for sample in log.samples or [] if sample.scores]
write_rewards([1.0 if value == "C" else 0.0 for value in scored])
