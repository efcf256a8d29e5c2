"""Run by TRL's interpreter: FOLDER. The loss of each type by the engine, and by its formula.

DAPO (arXiv:2503.14476) divides the sum over tokens by all tokens of a step, BNPO by those of the
rows at once, and GRPO (arXiv:2402.03300) means over the tokens of a row and then over rows.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from prime_trl.config import Config
from prime_trl.run import load_tokenizer, load_trainer
from prime_trl.tiny import write_tiny_model

FOLDER = Path(sys.argv[1])
MODEL = FOLDER / "model"
ROWS, PROMPT, LONGEST, CLIP = 4, 3, 6, 0.2
write_tiny_model(MODEL, 0)
config = Config(
    model=str(MODEL),
    steps=1,
    group=2,
    batch=2,
    lr=1e-3,
    max_tokens=8,
    temperature=0.7,
    seed=0,
    save_every=1,
)
tokenizer = load_tokenizer(config)
torch.manual_seed(1)
ids = torch.randint(3, len(tokenizer), (ROWS, PROMPT + LONGEST))
lengths = torch.tensor([6, 2, 5, 1])
mask = (torch.arange(LONGEST)[None] < lengths[:, None]).long()
advantages = torch.tensor([1.0, -1.0, 0.5, -0.5])
noise = torch.randn(ROWS, LONGEST) / 3


def logprobs_of(model: Any) -> torch.Tensor:
    """Of the completions, at the temperature."""
    logits = model(input_ids=ids).logits[:, PROMPT - 1 : -1].double() / config.temperature
    chosen: torch.Tensor = logits.log_softmax(-1).gather(-1, ids[:, PROMPT:, None])[..., 0]
    return chosen


def by_formula(kind: str, own: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    ratio = (own - old).exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    each = -torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None]) * mask
    if kind == "grpo":
        return (each.sum(-1) / mask.sum(-1)).mean()
    return each.sum() / mask.sum()


for kind in sys.argv[2:]:
    data = Dataset.from_list([{"prompt": "0"}])
    options: dict[str, Any] = {"rollout_func": None, "callbacks": []}
    chosen = replace(config, options={"loss_type": kind, "beta": 0.0})
    trainer = load_trainer(
        chosen, FOLDER, train_dataset=data, processing_class=tokenizer, **options
    )
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation
    own = logprobs_of(trainer.model)
    old = own.detach() + noise
    inputs = {
        "prompt_ids": ids[:, :PROMPT],
        "prompt_mask": torch.ones(ROWS, PROMPT, dtype=torch.long),
        "completion_ids": ids[:, PROMPT:],
        "completion_mask": mask,
        "advantages": advantages,
        "old_per_token_logps": old.float(),
        "num_items_in_batch": mask.sum(),
    }
    trainer.model.train()
    found = trainer._compute_loss(trainer.model, inputs)
    found = found * (trainer.current_gradient_accumulation_steps if kind != "dapo" else 1)
    formula = by_formula(kind, own, old)
    print(json.dumps({"kind": kind, "engine": found.item(), "formula": formula.item()}))
