"""Run by an interpreter with the Tinker cookbook: a group through its pipeline, to its tensors."""

import asyncio
from types import SimpleNamespace

import tinker
from prime_adapters.service import RolloutService
from prime_adapters.tinker import PrimeDatasetBuilder, use_prime
from tinker_cookbook import renderers
from tinker_cookbook.rl import rollouts, train
from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
from tiny_tokenizer import tiny_tokenizer


class SamplingClient:
    """Stands for Tinker's service: repeats the last message of the user, or says no."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def sample(self, prompt, num_samples, sampling_params, **_):
        assert (num_samples, sampling_params.temperature) == (1, 0.7)
        text = self.tokenizer.decode(prompt.to_ints()).split("User: ")[-1].split("\n\n")[0]
        ids = self.tokenizer.encode(text if len(self.answers) % 2 else "no")
        told = [-(len(self.answers) + 1) / 8] * len(ids)
        self.answers.append((prompt.to_ints(), ids, told))
        answer = SimpleNamespace(
            tokens=ids, logprobs=told, stop_reason="stop", sequence_id=None, text=text
        )
        return SimpleNamespace(sequences=[answer], prompt_cache_hit_tokens=0)


async def main():
    tokenizer = tiny_tokenizer()
    client = SamplingClient(tokenizer)
    use_prime("tiny", renderers.get_renderer("role_colon", tokenizer), RolloutService())
    builder = PrimeDatasetBuilder(groups_per_batch=4, group_size=4)
    named = {"model_name": "tiny", "recipe_name": "prime", "log_path": "runs/1"}
    train.Config(dataset_builder=builder, max_tokens=512, learning_rate=1e-5, **named)
    dataset, _ = await builder()
    assert len(dataset) == 3
    group = await rollouts.do_group_rollout_and_filter_constant_reward(
        client,
        dataset.get_batch(0)[1],
        max_tokens=64,
        temperature=0.7,
        do_remove_constant_reward_groups=True,
    )
    assert sorted(group.get_total_rewards()) == [0.0, 0.0, 1.0, 1.0], group
    for trajectory in group.trajectories_G:
        (turn,) = trajectory.transitions
        assert (turn.ob.to_ints(), turn.ac.tokens, turn.ac.logprobs) in client.answers
    data, _ = assemble_training_data([group], compute_advantages([group]))
    assert len(data) == 4
    assert all(isinstance(each, tinker.Datum) for each in data)


asyncio.run(main())
