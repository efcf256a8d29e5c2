"""A tiny random model behind the policy endpoint of the TRL engine, and its own forward pass.

with ServedPolicy(python, folder) as policy:
    ...                                # ask policy.url, with policy.key
    gap = policy.largest_gap(lines)    # rollouts as the service gave them; serves no more
"""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from prime_cli.training.engines.catalogue import BUILT_IN

PROGRAM = """
import json, sys, threading
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from prime_trl.generation import Generating
from prime_trl.policy import Policy
from prime_trl.tiny import write_tiny_model

write_tiny_model(Path(sys.argv[2]), 0)
model = AutoModelForCausalLM.from_pretrained(sys.argv[2], dtype=torch.float32)
# As Qwen2.5 has one; the policy must not sample by it.
model.generation_config.repetition_penalty = 1.5
tokenizer = AutoTokenizer.from_pretrained(sys.argv[2])
policy = Policy(tokenizer, seed=0, most=16)
print(policy.url, policy.key, flush=True)
asked = []
reading = threading.Thread(target=lambda: asked.append(sys.stdin.readline()), daemon=True)
reading.start()
policy.pump(Generating(lambda: model, tokenizer, [tokenizer.eos_token_id]), lambda: bool(asked))
largest, tokens = 0.0, 0
for segment in json.loads(asked[0]):
    with torch.no_grad():
        logprobs = model(torch.tensor([segment["ids"]])).logits[0].float().log_softmax(-1)
    for start, end, *_ in segment["spans"]:
        for place in range(start, end):
            told = segment["logprobs"][place]
            largest = max(largest, abs(told - float(logprobs[place - 1, segment["ids"][place]])))
            tokens += 1
print(json.dumps([largest, tokens]), flush=True)
"""


class ServedPolicy:
    """The model's process; at temperature 1."""

    def __init__(self, python: Path, folder: Path) -> None:
        argv = [str(python), "-c", PROGRAM, str(BUILT_IN / "trl"), str(folder / "tiny")]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self.url = self.key = ""

    def __enter__(self) -> Self:
        self.url, self.key = self._line().split()
        return self

    def largest_gap(self, segments: list[dict[str, Any]]) -> tuple[float, int]:
        """Of recorded and recomputed log-probabilities in nats, and of how many tokens."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(segments) + "\n")
        self._process.stdin.flush()
        largest, tokens = json.loads(self._line())
        return float(largest), int(tokens)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
