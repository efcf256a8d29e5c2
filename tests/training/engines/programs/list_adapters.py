"""Run by TRL's interpreter: FOLDER. What adapters the engine trains, and what it refuses."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from datasets import Dataset
from prime_trl.adapters import require_layers
from prime_trl.config import Config
from prime_trl.failures import Stopped
from prime_trl.run import load_tokenizer, load_trainer
from prime_trl.tiny import write_tiny_model

FOLDER = Path(sys.argv[1])
MODEL = FOLDER / "model"
write_tiny_model(MODEL, 0)
config = Config(
    model=str(MODEL),
    steps=1,
    group=2,
    batch=2,
    lr=1.0,
    max_tokens=8,
    temperature=1.0,
    seed=0,
    save_every=1,
    lora=4,
)
for own in (config, replace(config, lora_alpha=32, lora_targets=("q_proj", "v_proj"))):
    require_layers(own)
    trainer = load_trainer(
        own,
        FOLDER,
        train_dataset=Dataset.from_list([{"prompt": "0"}]),
        processing_class=load_tokenizer(config),
        rollout_func=None,
        callbacks=[],
    )
    layers = {
        name.partition(".lora_A")[0].rpartition(".")[2]: trainer.model.get_submodule(
            name.partition(".lora_A")[0]
        ).scaling["default"]
        for name, parameter in trainer.model.named_parameters()
        if parameter.requires_grad and ".lora_A" in name
    }
    print(json.dumps(layers))
try:
    require_layers(replace(config, lora_targets=("q_proj", "q_prj")))
except Stopped as stopped:
    print(json.dumps([stopped.code, stopped.message, stopped.hint]))
