"""Run by TRL's interpreter: FOLDER. Answers of a tiny model with random weights, as JSON."""

import json
import sys
from pathlib import Path

from prime_trl.config import Config
from prime_trl.generation import Generating
from prime_trl.run import ends_of, load_tokenizer
from prime_trl.sampling import Wanted
from prime_trl.tiny import write_tiny_model
from transformers import AutoModelForCausalLM

FOLDER = Path(sys.argv[1])
write_tiny_model(FOLDER, 0)
named = json.loads((FOLDER / "generation_config.json").read_text("utf-8"))
(FOLDER / "generation_config.json").write_text(
    json.dumps({**named, "eos_token_id": [2, *range(50, 80)]}), "utf-8"
)
config = Config(
    model=str(FOLDER),
    steps=1,
    group=2,
    batch=1,
    lr=1e-3,
    max_tokens=8,
    temperature=1.0,
    seed=0,
    save_every=1,
)
tokenizer = load_tokenizer(config)
ends = ends_of(config, tokenizer)
model = AutoModelForCausalLM.from_pretrained(FOLDER)
sampler = Generating(lambda: model, tokenizer, ends)
for number in range(24):
    sampler.take(number, Wanted([10, 11, 12], 8, 1.0, f"seed {number}"))
texts = tuple("abcdefghijklm")
for number in range(24, 48):
    sampler.take(number, Wanted([10, 11, 12], 8, 1.0, f"seed {number}", texts))
with sampler.awake():
    answers = dict(sampler.work())
found = [[answer.ids, answer.ended] for number, answer in answers.items() if number < 24]
stopped = [
    [
        tokenizer.decode(answer.ids),
        answer.ended,
        answer.stop,
        len(answer.logprobs) == len(answer.ids),
    ]
    for number, answer in answers.items()
    if number >= 24
]
print(json.dumps({"ends": ends, "answers": found, "stopped": stopped}))
