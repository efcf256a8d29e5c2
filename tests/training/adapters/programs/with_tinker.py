"""Run by an interpreter with the Tinker cookbook: a batch through its rollouts, to its tensors."""

import asyncio

import tinker
from prime_adapters.service import RolloutService
from prime_adapters.tinker import PrimeDatasetBuilder, use_prime
from tinker_cookbook import renderers
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl import rollouts
from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
from tiny_tokenizer import tiny_tokenizer


class Policy(TokenCompleter):
    """Stands for Tinker's service: repeats the last message of the user."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def __call__(self, model_input, stop, *, max_tokens=None):
        prompt = model_input.to_ints()
        text = self.tokenizer.decode(prompt).split("User: ")[-1].split("\n\n")[0]
        ids = self.tokenizer.encode(text if len(self.answers) % 2 else "no")
        told = [-(len(self.answers) + 1) / 8] * len(ids)
        self.answers.append((prompt, ids, told))
        return TokensWithLogprobs(tokens=ids, maybe_logprobs=told, stop_reason="stop")


async def main():
    tokenizer = tiny_tokenizer()
    policy = Policy(tokenizer)
    use_prime("tiny", renderers.get_renderer("role_colon", tokenizer), RolloutService())
    dataset, _ = await PrimeDatasetBuilder(groups_per_batch=4, group_size=4)()
    assert len(dataset) == 3
    group = await rollouts.do_group_rollout(dataset.get_batch(0)[1], policy)
    assert sorted(group.get_total_rewards()) == [0.0, 0.0, 1.0, 1.0], group
    for trajectory in group.trajectories_G:
        (turn,) = trajectory.transitions
        assert (turn.ob.to_ints(), turn.ac.tokens, turn.ac.logprobs) in policy.answers
    data, _ = assemble_training_data([group], compute_advantages([group]))
    assert len(data) == 4
    assert all(isinstance(each, tinker.Datum) for each in data)


asyncio.run(main())
