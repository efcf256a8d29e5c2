"""Run by TRL's interpreter: FOLDER. Prints what users are told of real failures, as JSON."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import torch
from datasets import Dataset
from prime_trl.config import Config
from prime_trl.failures import Stopped, reason_of
from prime_trl.memory import forecast, most_turns, require_gpu, require_memory, rows_at_once
from prime_trl.run import load_tokenizer, load_trainer
from prime_trl.tiny import write_tiny_model
from transformers import Qwen3Config

FOLDER = Path(sys.argv[1])
WHOLE = FOLDER / "whole"
SPOILT: dict[str, Callable[[Path], Any]] = {
    "empty": lambda model: [path.unlink() for path in model.iterdir()],
    "config": lambda model: (model / "config.json").write_text("{"),
    "architecture": lambda model: (model / "config.json").write_text('{"model_type": "none"}'),
    "no weights": lambda model: (model / "model.safetensors").unlink(),
    "cut weights": lambda model: (model / "model.safetensors").write_bytes(b"\0" * 999),
    "tokenizer": lambda model: [path.unlink() for path in model.glob("tokenizer*")],
    "template": lambda model: (model / "chat_template.jinja").unlink(),
}


def load(model: Path) -> None:
    """What the engine does with a model before anything is played."""
    config = Config(
        model=str(model),
        steps=1,
        group=2,
        batch=1,
        lr=1e-3,
        max_tokens=8,
        temperature=1.0,
        seed=0,
        save_every=1,
    )
    require_memory(config)
    tokenizer = load_tokenizer(config)
    data = Dataset.from_list([{"prompt": "0"}])
    options: dict[str, Any] = {"rollout_func": None, "callbacks": []}
    load_trainer(config, FOLDER, train_dataset=data, processing_class=tokenizer, **options)


def told(doing: Callable[[], object]) -> list[str | None]:
    """The code, message and hint of what `doing` it raises."""
    try:
        doing()
    except Exception as error:
        found = error if isinstance(error, Stopped) else reason_of(error)
        if found is None:
            raise
        return [found.code, found.message, found.hint]
    return []


def spoilt(name: str) -> Callable[[], None]:
    """Load a copy of the model that lacks or breaks something."""
    copy = FOLDER / name.replace(" ", "-")
    shutil.copytree(WHOLE, copy)
    SPOILT[name](copy)
    return lambda: load(copy)


def run_out_of_the_gpu() -> None:
    """What torch raises there."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


def planned(turns: int, context: int) -> tuple[Config, int]:
    """A training of 64 rows, of which 8 of one turn fit, and the tokens of the longest one."""
    folder = FOLDER / f"context-{context}"
    Qwen3Config(
        vocab_size=1000,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=context,
    ).save_pretrained(folder)
    own = psutil.virtual_memory().total // 8 // (16 * 1000) // 8
    config = Config(str(folder), 1, 8, 8, 1e-3, own, 1.0, 0, 1)
    return config, config.max_tokens * turns


write_tiny_model(WHOLE, 0)
found: dict[str, Any] = {name: told(spoilt(name)) for name in SPOILT}
found["whole"] = told(lambda: load(WHOLE))
found["host"] = told(lambda: torch.empty(1 << 50))
found["python"] = told(lambda: bytearray(1 << 62))
found["gpu"] = told(run_out_of_the_gpu)
turns = [[], [{"max_turns": 1}, {"max_turns": 3}], [{"max_turns": 1}, {"max_turns": None}]]
described = [{"max_turns": 10, "environments": each} for each in turns]
found["turns"] = [most_turns(each) for each in described]
plans = [planned(*each) for each in ((1, 1 << 30), (4, 1 << 30), (99, 1 << 30), (99, 8))]
found["rows"] = [rows_at_once(*each) for each in plans]
found["forecast"] = [forecast(*plans[0]), forecast(*plans[2])]
found["driver"] = told(lambda: require_gpu(["NVIDIA H100, 81559 MiB"]))
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
found["hidden"] = told(lambda: require_gpu(["NVIDIA H100, 81559 MiB"]))
found["none"] = told(lambda: require_gpu([]))
found["disk"] = told(lambda: torch.save(torch.zeros(1 << 20), "/dev/full"))
print(json.dumps(found))
