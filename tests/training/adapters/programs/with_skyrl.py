"""Run by an interpreter with SkyRL: a batch of its dataset through its trainer, to tensors."""

import asyncio
import sys
from pathlib import Path

import torch
from prime_adapters.skyrl import PrimeGenerator, write_data
from skyrl.backends.skyrl_train.inference_servers.engine_utils import (
    get_sampling_params_for_backend,
)
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.dataset import PromptDataset
from skyrl.train.dataset.preprocess import convert_prompts_responses_to_batch_tensors
from skyrl.train.generators.utils import prepare_generator_input
from skyrl.train.trainer import RayPPOTrainer
from tiny_tokenizer import tiny_tokenizer

FOLDER = Path(sys.argv[1])
WORDS = [  # of the page
    f'data.train_data=["{FOLDER}/train.parquet"]',
    "data.val_data=[]",
    "trainer.eval_interval=-1",
    "generator.n_samples_per_prompt=4",
    "generator.sampling_params.max_generate_length=64",
]


class Engines:
    """Stands for SkyRL's inference engines: repeats the last message of the user, or says no."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def generate(self, input_batch, model=None):
        (prompt,) = input_batch["prompt_token_ids"]
        assert input_batch["sampling_params"]["max_tokens"] <= 64
        assert input_batch["sampling_params"]["logprobs"] == 1
        text = self.tokenizer.decode(prompt).split("user:")[-1].split("<end>")[0]
        said = text if len(self.answers) % 2 else "no"
        ids = [*self.tokenizer.encode(said), self.tokenizer.eos_token_id]
        told = [-(len(self.answers) + 1) / 8 - n / 1024 for n in range(len(ids))]
        self.answers.append((prompt, ids, told))
        found = {"responses": [said], "response_ids": [ids], "stop_reasons": ["stop"]}
        return {**found, "response_logprobs": [told]}


def trainer_of(config, generator):
    """SkyRL's trainer without its workers, which need GPUs."""
    trainer = RayPPOTrainer.__new__(RayPPOTrainer)
    trainer.cfg, trainer.generator, trainer.all_metrics = config, generator, {}
    return trainer


async def train_on(dataset, tokenizer, *words):
    config = SkyRLTrainConfig.from_cli_overrides([*WORDS, *words])
    engines = Engines(tokenizer)
    trainer = trainer_of(config, PrimeGenerator(config.generator, engines, tokenizer))
    sampling = get_sampling_params_for_backend("vllm", config.generator.sampling_params)
    prompts = dataset.collate_fn([dataset[number] for number in (3, 7)])
    asked, uids = prepare_generator_input(prompts, 4, sampling, "prime", "train", 1)
    output = await trainer.generate(asked)  # which validates it
    rewards = [sum(each) if isinstance(each, list) else each for each in output["rewards"]]
    assert rewards.count(1.0) == rewards.count(0.0) == 4, rewards
    output, uids = trainer.postprocess_generator_output(output, uids)
    assert uids == ["3"] * 4 + ["7"] * 4
    sequences, attention, _, rewards, masks, logprobs, *_ = (
        convert_prompts_responses_to_batch_tensors(
            tokenizer.pad_token_id,
            output["prompt_token_ids"],
            output["response_ids"],
            output["rewards"],
            output["loss_masks"],
            output["rollout_logprobs"],
        )
    )
    assert masks.shape == rewards.shape == logprobs.shape
    for row in range(8):
        length = int(masks[row].sum())
        told = logprobs[row][masks[row].bool()]
        ids = sequences[row][attention[row].bool()].tolist()
        answer = next(
            each
            for each in engines.answers
            if each[0] + each[1] == ids and torch.equal(torch.tensor(each[2]), told)
        )
        assert length == len(answer[1])
    assert trainer.all_metrics["generate/avg_num_tokens"] > 0


async def main():
    tokenizer = tiny_tokenizer()
    write_data(FOLDER)
    dataset = PromptDataset(str(FOLDER / "train.parquet"), tokenizer, 512, num_workers=1)
    assert len(dataset) == 10
    await train_on(dataset, tokenizer)
    await train_on(dataset, tokenizer, "generator.step_wise_trajectories=true")


if __name__ == "__main__":
    asyncio.run(main())
