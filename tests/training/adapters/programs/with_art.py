"""Run by an interpreter with ART: groups through its gathering, to the rows it trains on."""

import asyncio
import math

import art
from art.preprocessing.tokenize import tokenize_trajectory_groups
from prime_adapters.art import examples, rollout_group
from prime_adapters.service import PolicyServer, Sampled
from tiny_tokenizer import tiny_tokenizer

EXAMPLES = [3, 7]


class Policy:
    """Stands for the server that ART starts: repeats the last message of the user, or says no."""

    def __init__(self, tokenizer):
        self.tokenizer, self.answers = tokenizer, []

    async def __call__(self, request):
        asked = request["messages"]
        ids = self.tokenizer.encode(asked[-1]["content"] if len(self.answers) % 2 else "no")
        prompt = [*self.tokenizer.encode("user: "), len(self.answers)]
        told = [-(len(self.answers) + 1) / 8 - n / 1024 for n in range(len(ids))]
        self.answers.append((prompt, ids, told))
        return Sampled(prompt, ids, told, {"content": self.tokenizer.decode(ids)}, "stop")


class Model(art.TrainableModel):
    """One that no backend has registered, so that it has no step of its own."""

    async def get_step(self):
        return 5


async def main():
    tokenizer = tiny_tokenizer()
    policy = Policy(tokenizer)
    with PolicyServer().serving(policy) as where:
        model = Model(name="tiny", run_name="tiny", project="prime", base_model="tiny")
        model.inference_base_url = where["url"]
        model.inference_api_key = where["api_key"]
        model.inference_model_name = "policy"
        assert examples() == list(range(10))
        asked = (rollout_group(model, example, 4) for example in EXAMPLES)
        groups = await art.gather_trajectory_groups(asked)
    assert len(groups) == 2
    for group in groups:
        assert all(each.final_policy_version == 5 for each in group)
        assert {each.reward for each in group} == {0.0, 1.0}, group
    rows = list(tokenize_trajectory_groups(tokenizer, groups, False, True))
    assert len(rows) == 8
    for row in rows:
        start = row.assistant_mask.index(1)
        prompt, ids = row.token_ids[:start], row.token_ids[start:]
        assert all(row.assistant_mask[start:])
        assert all(map(math.isnan, row.logprobs[:start]))
        assert (prompt, ids, row.logprobs[start:]) in policy.answers
        assert (row.advantage > 0) == (tokenizer.decode(ids) != "no")


asyncio.run(main())
