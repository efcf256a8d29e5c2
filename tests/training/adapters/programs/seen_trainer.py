"""Stands for verl's trainer: checks the words that it got, and that the service answers."""

import sys
from pathlib import Path

import pyarrow.parquet
from prime_adapters.service import RolloutService

told = dict(word.split("=", 1) for word in sys.argv[1:])
rows = pyarrow.parquet.read_table(told["data.train_files"]).to_pylist()
assert [row["extra_info"]["example"] for row in rows] == [0, 1, 2]
agent = "actor_rollout_ref.rollout.agent"
assert Path(told[f"{agent}.agent_loop_config_path"]).is_file()
assert told[f"{agent}.default_agent_loop"] == "prime"
assert told["actor_rollout_ref.rollout.temperature"] == "0.7"
assert told["trainer.n_gpus_per_node"] == "1"
assert RolloutService().environment()["examples"] == 3
