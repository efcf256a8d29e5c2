"""Run by an interpreter with verl: two rollouts through its agent loop, and its dataset file."""

import asyncio
import sys
from pathlib import Path

import pyarrow.parquet
from omegaconf import OmegaConf
from prime_adapters.verl import PrimeAgentLoop, write_data
from tiny_tokenizer import tiny_tokenizer
from verl.experimental.agent_loop.agent_loop import DictConfigWrap
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput


class Server:
    """Stands for verl's LLM servers: repeats the last message of the user."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        assert sampling_params["max_tokens"] <= 64, sampling_params
        assert sampling_params["temperature"] == 0.7
        text = self.tokenizer.decode(prompt_ids).split("user:")[-1].split("<end>")[0]
        ids = [*self.tokenizer.encode(text), self.tokenizer.eos_token_id]
        told = [-(len(self.answers) + 1) / 8 - n / 1024 for n in range(len(ids))]
        self.answers.append((list(prompt_ids), ids, told))
        return TokenOutput(token_ids=ids, log_probs=told, stop_reason="completed")


async def main():
    tokenizer = tiny_tokenizer()
    server = Server(tokenizer)
    rollout = {"prompt_length": 256, "response_length": 64, "multi_turn": {"format": "hermes"}}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    for example in (3, 7):
        loop = PrimeAgentLoop(
            trainer_config=DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokenizer,
            processor=None,
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
        )
        output = await loop.run({"temperature": 0.7}, extra_info={"example": example})
        prompt, ids, told = server.answers[-1]
        assert (output.prompt_ids, output.response_ids) == (prompt, ids)
        assert output.response_mask == [1] * len(ids)
        assert output.response_logprobs == told
        assert output.reward_score == 1.0, output
        tensors = output.as_dict()
        assert tensors["rm_scores"][-1] == 1.0
        assert tensors["rollout_log_probs"].shape == tensors["responses"].shape
    folder = Path(sys.argv[1])
    write_data(folder)
    rows = pyarrow.parquet.read_table(folder / "train.parquet").to_pylist()
    assert [row["extra_info"]["example"] for row in rows] == list(range(10))
    assert "prime_adapters.verl.PrimeAgentLoop" in (folder / "agent.yaml").read_text()


asyncio.run(main())
