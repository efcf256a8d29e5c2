"""A v0 environment whose reward is what a JudgeRubric's model says."""

import verifiers as vf
from datasets import Dataset


def load_environment(prompt="Is {response} {answer}?", temperature=0.0):
    rubric = vf.JudgeRubric(
        judge_model="judge", judge_prompt=prompt, judge_sampling_args={"temperature": temperature}
    )

    async def accepted(judge, prompt, completion, answer, state):
        return float("yes" in await judge(prompt, completion, answer, state))

    rubric.add_reward_func(accepted)
    rows = Dataset.from_list([{"question": "say yes", "answer": "yes"}])
    group = vf.RubricGroup(rubrics=[vf.Rubric(), rubric])
    return vf.SingleTurnEnv(eval_dataset=rows, rubric=group)
