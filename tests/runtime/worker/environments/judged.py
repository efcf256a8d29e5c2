"""A judge with the default client, as environments make one: OPENAI_* says where it is."""

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI, OpenAI


def load_environment():
    async def judge(completion, **kwargs):
        asked = [{"role": "user", "content": "1"}]
        answer = await AsyncOpenAI().chat.completions.create(model="judge", messages=asked)
        again = OpenAI().chat.completions.create(model="judge", messages=asked)
        return float(answer.choices[0].message.content) + float(again.choices[0].message.content)

    rows = [{"question": f"say {n}", "answer": ""} for n in range(2)]
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[judge]))
