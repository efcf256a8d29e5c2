"""Summarize a text in one sentence; a second model judges the sentence."""

from typing import Any

import verifiers as vf
from datasets import Dataset

SYSTEM_PROMPT = "Summarize the text in one sentence."

JUDGE_PROMPT = """\
Does the summary say what the text says, in one sentence? Reply with yes or no.

Text: {question}
Expected: {answer}
Summary: {response}
"""

TEXTS = (
    ("The library opens at nine. On Sundays it stays closed.", "Open from nine, except Sundays."),
    ("Rain fell all night. The river rose, and the bridge was shut.", "Rain shut the bridge."),
    ("Mia lost her key. Her neighbour had found it.", "Mia's neighbour found her key."),
)


def load_environment(judge_model: str = "gpt-4.1-nano") -> vf.Environment:
    """The environment; `judge_model` judges."""
    # No client of its own: `prime` routes the judge's calls, adds the key and counts the cost.
    rubric = vf.JudgeRubric(judge_model=judge_model, judge_prompt=JUDGE_PROMPT)

    async def accepted(judge: Any, prompt: Any, completion: Any, answer: str, state: Any) -> float:
        verdict: str = await judge(prompt, completion, answer, state)
        return float(verdict.strip().lower().startswith("yes"))

    def words(completion: Any) -> float:
        return float(len(str(completion[-1]["content"]).split()))

    rubric.add_reward_func(accepted)
    rubric.add_reward_func(words, weight=0.0)
    rows = [{"question": text, "answer": summary} for text, summary in TEXTS]
    return vf.SingleTurnEnv(
        eval_dataset=Dataset.from_list(rows), system_prompt=SYSTEM_PROMPT, rubric=rubric
    )
