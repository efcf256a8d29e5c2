import os
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.training.engines.prime_rl.run import write_settings
from prime_cli.training.engines.prime_rl.settings import PrimeRlSettings, Source, tables

# Read when this is imported, since each test is given an environment without it.
CHECKOUT = os.environ.get("PRIME_RL_DIR")
SETTINGS = PrimeRlSettings(
    model="Qwen/Qwen3-0.6B",
    is_local=False,
    source=Source("letters", "letters_v1", {"n": 8}),
    steps=20,
    batch=8,
    group=4,
    lr=3e-6,
    max_tokens=128,
    temperature=1.0,
    save_every=10,
    keep=2,
    gpus=2,
)


def test_the_file_says_what_the_flags_say(tmp_path: Path) -> None:
    path = write_settings(SETTINGS, tmp_path)
    assert tomllib.loads(path.read_text()) == {
        "max_steps": 20,
        "seq_len": 128 + 2048,
        "output_dir": str(tmp_path),
        "run": {"name": "prime-rl"},
        "model": {"name": "Qwen/Qwen3-0.6B"},
        "deployment": {"gpus_per_node": 2, "num_train_gpus": 1, "num_infer_gpus": 1},
        "ckpt": {"interval": 10, "keep_last": 2},
        "monitors": {"file": {}, "wandb": "None"},
        "inference": {},
        "orchestrator": {
            "batch_size": 32,
            "group_size": 4,
            "train": {
                "sampling": {"max_completion_tokens": 128, "temperature": 1.0},
                "source": [
                    {
                        "name": "letters",
                        "env": {
                            "taskset": {"id": "letters_v1", "n": 8},
                            "agent": {
                                "harness": {"id": "null"},
                                "runtime": {"type": "subprocess"},
                            },
                        },
                    }
                ],
            },
        },
        "trainer": {"optim": {"lr": 3e-6}},
    }


def test_adapters_a_local_model_and_a_report_have_their_tables(tmp_path: Path) -> None:
    found = tables(
        replace(
            SETTINGS,
            model="/models/mine",
            is_local=True,
            lora=16,
            lora_alpha=32,
            wandb={"project": "letters"},
            sampling={"top_k": 20},
        ),
        tmp_path,
    )
    assert found["trainer"] == {
        "optim": {"lr": 3e-6},
        "model": {"lora": {"rank": 16, "alpha": 32}},
    }
    assert found["orchestrator"]["renderer"] == {"name": "default"}
    assert found["orchestrator"]["train"]["sampling"]["extra_body"] == {"top_k": 20}
    assert found["monitors"]["wandb"] == {"project": "letters"}


def test_arguments_beside_the_taskset_are_merged_into_the_environment(tmp_path: Path) -> None:
    source = Source("x", "x", harness="bash", more={"agent": {"runtime": {"type": "docker"}}})
    (told,) = tables(replace(SETTINGS, source=source), tmp_path)["orchestrator"]["train"]["source"]
    assert told["env"]["agent"] == {"harness": {"id": "bash"}, "runtime": {"type": "docker"}}


@pytest.mark.parametrize(("gpus", "train", "infer"), [(0, 1, 1), (2, 1, 1), (3, 1, 2), (8, 4, 4)])
def test_gpus_are_shared_by_training_and_sampling(
    gpus: int, train: int, infer: int, tmp_path: Path
) -> None:
    found = tables(replace(SETTINGS, gpus=gpus), tmp_path)["deployment"]
    assert (found["num_train_gpus"], found["num_infer_gpus"]) == (train, infer)
    assert found["gpus_per_node"] >= train + infer


def test_the_schema_of_a_real_checkout_accepts_the_file(tmp_path: Path) -> None:
    """PRIME_RL_DIR names an installed checkout; its own environments must have reverse-text."""
    if CHECKOUT is None:
        pytest.skip("prime-rl's source is not at hand: PRIME_RL_DIR names no checkout")
    source = Source("reverse-text", "reverse_text_v1")
    path = write_settings(replace(SETTINGS, source=source), tmp_path)
    words = ["uv", "run", "--no-sync", "rl", "@", str(path), "--dry-run"]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
