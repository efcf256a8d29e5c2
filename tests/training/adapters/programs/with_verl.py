"""Run by an interpreter with verl: a batch through its agent loop worker, and its dataset file."""

import asyncio
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
from hydra import compose, initialize_config_module
from prime_adapters.verl import write_data
from tiny_tokenizer import tiny_tokenizer
from transformers import Qwen3Config
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.workers.rollout.replica import TokenOutput

FOLDER = Path(sys.argv[1])
EXAMPLES = [3, 3, 7]


class Server:
    """Stands for verl's LLM servers: repeats the last message of the user."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        assert sampling_params["max_tokens"] <= 64, sampling_params
        assert sampling_params["temperature"] == 0.7
        assert sampling_params["logprobs"] is True
        text = self.tokenizer.decode(prompt_ids).split("user:")[-1].split("<end>")[0]
        ids = [*self.tokenizer.encode(text), self.tokenizer.eos_token_id]
        told = [-(len(self.answers) + 1) / 8 - n / 1024 for n in range(len(ids))]
        self.answers.append((list(prompt_ids), ids, told))
        return TokenOutput(token_ids=ids, log_probs=told, stop_reason="completed")


def config_of(model):
    told = {
        "actor_rollout_ref.model.path": model,
        "actor_rollout_ref.rollout.name": "vllm",
        "actor_rollout_ref.rollout.prompt_length": 128,
        "actor_rollout_ref.rollout.response_length": 64,
        "actor_rollout_ref.rollout.temperature": 0.7,
        "actor_rollout_ref.rollout.calculate_log_probs": True,
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": FOLDER / "agent.yaml",
        "actor_rollout_ref.rollout.agent.default_agent_loop": "prime",
    }
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", [f"{name}={value}" for name, value in told.items()])


async def main():
    tokenizer = tiny_tokenizer()
    model = FOLDER / "model"
    tokenizer.save_pretrained(model)
    config = Qwen3Config(hidden_size=32, num_hidden_layers=1, vocab_size=128)
    config.architectures = ["Qwen3ForCausalLM"]
    config.save_pretrained(model)
    write_data(FOLDER)
    rows = pyarrow.parquet.read_table(FOLDER / "train.parquet").to_pylist()
    assert [row["extra_info"]["example"] for row in rows] == list(range(10))

    server = Server(tokenizer)
    worker = AgentLoopWorker(config_of(model), server)
    chosen = [rows[number] for number in EXAMPLES]
    columns = {
        "raw_prompt": np.array([row["prompt"] for row in chosen] + [None], dtype=object)[:-1],
        "extra_info": np.array([row["extra_info"] for row in chosen], dtype=object),
        "index": np.array(EXAMPLES),
    }
    found = await worker.generate_sequences(DataProto.from_dict(non_tensors=columns))
    tensors = found.batch
    assert tensors["prompts"].shape == (3, 128)
    assert tensors["responses"].shape == (3, 64)
    assert tensors["rm_scores"].sum(dim=1).tolist() == [1.0, 1.0, 1.0]
    answers = {(tuple(ids), tuple(np.float32(told))) for _, ids, told in server.answers}
    for row in range(3):
        mask = tensors["response_mask"][row].bool()
        ids = tuple(tensors["responses"][row][mask].tolist())
        told = tuple(tensors["rollout_log_probs"][row][mask].numpy())
        assert (ids, told) in answers


asyncio.run(main())
