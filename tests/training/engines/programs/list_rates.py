"""Run by TRL's interpreter: FOLDER STEPS, then SCHEDULE:WARMUP. The learning rate of each step."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from datasets import Dataset
from prime_trl.config import Config
from prime_trl.run import load_tokenizer, load_trainer
from prime_trl.tiny import write_tiny_model

FOLDER, STEPS = Path(sys.argv[1]), int(sys.argv[2])
MODEL = FOLDER / "model"
write_tiny_model(MODEL, 0)
config = Config(
    model=str(MODEL),
    steps=STEPS,
    group=2,
    batch=2,
    lr=1.0,
    max_tokens=8,
    temperature=1.0,
    seed=0,
    save_every=1,
)
for schedule, warmup in (word.split(":") for word in sys.argv[3:]):
    trainer = load_trainer(
        replace(config, lr_schedule=schedule, warmup=int(warmup)),
        FOLDER,
        train_dataset=Dataset.from_list([{"prompt": "0"}]),
        processing_class=load_tokenizer(config),
        rollout_func=None,
        callbacks=[],
    )
    trainer.create_optimizer_and_scheduler(STEPS)
    rates = []
    for _ in range(STEPS):
        rates.append(trainer.lr_scheduler.get_last_lr()[0])
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    print(json.dumps(rates))
