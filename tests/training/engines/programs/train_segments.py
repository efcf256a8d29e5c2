"""Run by TRL's interpreter: FOLDER, then TYPE:ROWS. The gradient of a step whose rollouts have
several segments, by the engine with so many rows at once, and by the formula of the loss type.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from formula import Keeping, loss_of
from prime_trl.config import Config
from prime_trl.rows import columns_of, rows_of
from prime_trl.run import load_tokenizer, load_trainer
from prime_trl.tiny import write_tiny_model
from transformers import PrinterCallback

FOLDER = Path(sys.argv[1])
MODEL = FOLDER / "model"
GROUP, SEGMENTS = 4, (1, 3, 2, 1, 1, 0, 2, 2)
REWARDS = (1.0, 0.0, 0.25, 0.5, 0.5, None, None, 0.75)
write_tiny_model(MODEL, 0)
config = Config(
    model=str(MODEL),
    steps=1,
    group=GROUP,
    batch=2,
    lr=1e-3,
    max_tokens=8,
    temperature=0.7,
    seed=0,
    save_every=9,
)
tokenizer = load_tokenizer(config)
dice = torch.Generator().manual_seed(1)


def segment(number: int) -> dict[str, Any]:
    """Ids with two sampled spans, of another length for each number."""
    ids = torch.randint(3, len(tokenizer), (9 + number,), generator=dice).tolist()
    spans = [[3, 4 + number, 0, "stop"], [6 + number, len(ids), 0, "stop"]]
    return {"ids": ids, "logprobs": [-1.0] * len(ids), "spans": spans}


ROLLOUTS = [
    {"reward": reward, "segments": [segment(number) for number in range(count)]}
    for reward, count in zip(REWARDS, SEGMENTS, strict=True)
]


def play(prompts: list[str], trainer: Any) -> Any:
    """The same rollouts for any prompts."""
    rows = [rows_of(each, tokenizer.eos_token_id) for each in ROLLOUTS]
    return columns_of(ROLLOUTS, rows, tokenizer.eos_token_id, sum(map(len, rows)))


for kind, rows in (word.split(":") for word in sys.argv[2:]):
    options = {"loss_type": kind, "max_grad_norm": 0.0, "per_device_train_batch_size": int(rows)}
    kept = Keeping()
    trainer = load_trainer(
        replace(config, options=options),
        FOLDER,
        train_dataset=Dataset.from_list([{"prompt": str(number)} for number in range(2)]),
        processing_class=tokenizer,
        rollout_func=play,
        callbacks=[kept],
    )
    trainer.remove_callback(PrinterCallback)  # which writes to stdout
    loss, sampled = loss_of(trainer.model, ROLLOUTS, kind, GROUP, config.temperature)
    loss.backward()
    wanted = [each.grad.clone() for each in trainer.model.parameters()]
    trainer.model.zero_grad()
    trainer.train()
    told = [each["completions/mean_length"] for each in trainer.state.log_history[:1]]
    off, size = kept.distance(wanted)
    print(json.dumps({"off": off, "size": size, "lengths": [*told, sampled]}))
