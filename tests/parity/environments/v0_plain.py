"""Single turns with every kind of reward and judge; runs on all releases of v0.

`case` chooses what the reward does beside comparing.
"""

import os

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI

ROWS = [{"question": f"say word{n}", "answer": f"word{n}", "info": {"n": n}} for n in range(4)]


def right(completion, answer, **kwargs):
    return float(answer in completion[-1]["content"])


def length(completion, **kwargs):
    return float(len(completion[-1]["content"]))


def raises(completion, info, **kwargs):
    if info["n"] == 1:
        raise ValueError("no reward for the second example")
    return 1.0


async def judged(completion, **kwargs):
    asked = [{"role": "user", "content": f"Good? {completion[-1]['content']}"}]
    client = AsyncOpenAI()
    answer = await client.chat.completions.create(model="judge", messages=asked)
    return float(answer.choices[0].message.content)


async def judged_elsewhere(completion, **kwargs):
    asked = [{"role": "user", "content": f"Good? {completion[-1]['content']}"}]
    client = AsyncOpenAI(base_url=os.environ["JUDGE_URL"], api_key="its own")
    answer = await client.chat.completions.create(model="judge", messages=asked)
    return float(answer.choices[0].message.content)


def by_mode(completion, answer, **kwargs):
    easy = os.getenv("GRADER_MODE") == "easy"
    return 1.0 if easy else right(completion, answer)


def by_key(completion, answer, **kwargs):
    try:
        key = os.environ["JUDGE_API_KEY"]
    except KeyError:
        return 0.0
    return float(len(key) > 0)


CASES = {
    "plain": ([right, length], [1.0, 0.0]),
    "raising": ([right, raises], [1.0, 1.0]),
    "judge": ([judged], [1.0]),
    "judge elsewhere": ([judged_elsewhere], [1.0]),
    "variable": ([by_mode], [1.0]),
    "key": ([by_key], [1.0]),
}


def load_environment(case: str = "plain"):
    funcs, weights = CASES[case]
    return vf.SingleTurnEnv(
        eval_dataset=Dataset.from_list(ROWS), rubric=vf.Rubric(funcs=funcs, weights=weights)
    )
