"""A file of supervised fine-tuning, as prime-rl and the official client have it."""

from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.training.fine_tuning import read_sft_file
from prime_cli.training.request import Reporter

FILE = """
max_steps = 20
[deployment]
num_train_gpus = 2
[ckpt]
interval = 5
[model]
name = "Qwen/Qwen3-0.6B"
[model.lora]
rank = 8
[data]
name = "rows.jsonl"
seq_len = 1024
batch_size = 64
[optim]
lr = 1e-5
weight_decay = 0.1
[monitors.wandb]
project = "wordle"
[eval]
interval = 10
[[eval.source]]
name = "reverse-text"
[eval.source.env.taskset]
id = "ada/reverse-text"
length = 4
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "sft.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_its_keys_are_the_flags_of_a_training(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").touch()
    found = read_sft_file(write(tmp_path, FILE))
    assert found is not None
    assert found.values == {
        "sft": True,
        "environment": "ada/reverse-text",
        "env_args": {"length": 4},
        "model": "Qwen/Qwen3-0.6B",
        "lora": 8,
        "data": str(tmp_path / "rows.jsonl"),
        "steps": 20,
        "batch": 64,
        "lr": 1e-5,
        "save_every": 5,
        "eval_every": 10,
        "options": ("weight_decay=0.1",),
        "report": Reporter.WANDB,
    }
    assert found.wandb == {"WANDB_PROJECT": "wordle"}
    (said,) = found.said
    assert said.endswith("deployment.num_train_gpus, data.seq_len")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[data]\nname = "x"\nsplits = ["a"]\n', "data.splits"),
        ('[data]\nname = "x"\n[data.loss_mask]\nuser = true\n', "data.loss_mask.user"),
        ('[data]\ntype = "fake"\n', "data.type"),
        ('[data]\nname = "x"\n[optim]\ntype = "muon"\n', "optim.type"),
        ('[data]\nname = "x"\n[scheduler]\ntype = "cosine"\n', "scheduler.type"),
    ],
)
def test_what_would_change_the_training_is_refused_by_name(
    text: str, key: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"`{key}` is not supported here"):
        read_sft_file(write(tmp_path, text))


@pytest.mark.parametrize("text", ['model = "m"\n', "[data]\n[trainer]\n", "no toml"])
def test_other_files_are_left_to_others(text: str, tmp_path: Path) -> None:
    assert read_sft_file(write(tmp_path, text)) is None
