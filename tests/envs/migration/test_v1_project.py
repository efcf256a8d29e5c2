import tomllib
from pathlib import Path

import pytest

from prime_cli.envs.migration.source import CannotMigrate
from tests.envs.migration.projects import PLAIN, PYPROJECT, migrated

HARD = '''"""Sums."""

from __future__ import annotations

import verifiers as vf
from datasets import Dataset
from verifiers.utils.data_utils import extract_boxed_answer

RULES = """First.
    Second."""


def load_environment(count: int = 4, think: bool = True, system_prompt: str = RULES, spare=None):
    """Not kept."""
    rows = []
    for n in range(count):
        rows.append({"question": f"{n} + 1", "answer": str(n + 1)})
    # One for each kind of model.
    parser = vf.ThinkParser(extract_boxed_answer) if think else vf.Parser()

    async def right(completion: vf.Messages, parser, answer="") -> float:
        """Indented.
          Twice.
        """
        return 1.0  # always

    rubric = vf.Rubric(funcs=[right], parser=parser)
    rubric.add_metric(parser.get_format_reward_func())
    data = Dataset.from_list(rows)
    return vf.SingleTurnEnv(
        dataset=data.select(range(2)),
        eval_dataset=data,
        rubric=rubric,
        system_prompt=system_prompt,
        max_concurrent=3,
    )
'''

TOOL = '''
import verifiers as vf
from datasets import Dataset


async def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def right(completion):
    return 1.0


def load_environment():
    data = Dataset.from_list([{"question": "1 + 2"}])
    rubric = vf.Rubric(funcs=[right])
    return vf.ToolEnv(dataset=data, tools=[add], max_turns=3, rubric=rubric)


def oracle(messages, *, answer, info):
    return "3"
'''


def taskset(folder: Path, source: str) -> str:
    files, _ = migrated(folder, source)
    text = files["sums/taskset.py"]
    compile(text, "taskset.py", "exec")
    return text


def test_a_function_keeps_its_code_and_a_reward_calls_it(tmp_path: Path) -> None:
    text = taskset(tmp_path, PLAIN)
    assert 'def right(completion, answer):\n    return float(answer in completion[-1]["con' in text
    assert "@vf.reward(weight=1.0)\n    async def right(self, trace: vf.Trace) -> float:" in text
    assert "float(right(completion=v0.said(trace), answer=self.data.answer))" in text


def test_arguments_are_fields_of_the_config(tmp_path: Path) -> None:
    text = taskset(tmp_path, PLAIN)
    assert "    count: int = 4\n" in text
    assert "load_rows(self.config.count)" in text


def test_nothing_of_the_old_verifiers_is_left(tmp_path: Path) -> None:
    text = taskset(tmp_path, HARD)
    assert "import verifiers as vf" not in text
    assert "v0.ThinkParser(v0.extract_boxed_answer) if think else v0.Parser()" in text
    assert "completion: v0.Messages" in text


def test_rewards_that_depend_on_arguments_get_them_from_the_task_s_config(tmp_path: Path) -> None:
    text = taskset(tmp_path, HARD)
    assert "class SumsTaskConfig(vf.TaskConfig):" in text
    assert "    think: bool = True\n" in text
    assert "        scoring = make_scoring(self.config.think)\n" in text
    assert "await scoring.right(completion=v0.said(trace), answer=self.data.answer, parser=" in text


def test_texts_and_comments_are_moved_as_they_are(tmp_path: Path) -> None:
    text = taskset(tmp_path, HARD)
    assert '        """Indented.\n          Twice.\n        """\n' in text
    assert "    # One for each kind of model.\n    parser = " in text
    assert "return 1.0  # always\n" in text
    assert 'RULES = """First.\n    Second."""\n' in text


def test_a_loop_that_fills_the_rows_goes_with_them(tmp_path: Path) -> None:
    text = taskset(tmp_path, HARD)
    loader = text[text.index("def load_rows(count, system_prompt, split)") :]
    assert "    for n in range(count):\n        rows.append(" in loader
    assert '    if split == "train":\n        return data.select(range(2)), system_prompt' in loader


def test_functions_without_weight_are_metrics(tmp_path: Path) -> None:
    text = taskset(tmp_path, HARD)
    assert "    @vf.metric\n    async def format_reward_func(" in text


def test_what_is_left_out_or_moved_is_told_by_line(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    _, found = migrated(tmp_path, HARD)
    assert [str(each) for each in found.left_out] == [
        "sums.py:35: `max_concurrent` of `SingleTurnEnv`",
        "sums.py:13: the argument `think`, which is `task.think` now",
        "sums.py:13: the argument `system_prompt`, which is `own_system_prompt` now",
        "sums.py:13: the argument `spare`, which data and rewards do not use",
        "its own tests",
    ]


def test_tools_are_methods_of_a_toolset(tmp_path: Path) -> None:
    text = taskset(tmp_path, TOOL)
    assert "    @vf.tool\n    async def add(self, a: int, b: int=2) -> str:" in text
    assert '        """Add two numbers."""\n        return str(await add(a=a, b=b))\n' in text
    assert "return trace.num_turns >= 3" in text
    assert text.endswith('if __name__ == "__main__":\n    SumsTools.run()\n')


def test_an_oracle_stays_one(tmp_path: Path) -> None:
    files, _ = migrated(tmp_path, TOOL)
    assert "oracle = v0.oracle_of(reply_to)" in files["sums/taskset.py"]
    assert "__all__ = ['SumsTaskset', 'oracle', 'NullHarness']" in files["sums/__init__.py"]


def test_tools_that_depend_on_arguments_are_refused(tmp_path: Path) -> None:
    nested = TOOL.replace("load_environment():", "load_environment(by=1):").replace(
        "    rubric =", "    def add(a: int):\n        return a + by\n    rubric ="
    )
    with pytest.raises(CannotMigrate):
        migrated(tmp_path, nested)


def test_the_project_requires_verifiers_of_today(tmp_path: Path) -> None:
    named = PYPROJECT.replace("]\n\n[tool.hatch", ', "verifiers-extra", "nltk"]\n\n[tool.hatch')
    files, _ = migrated(tmp_path, PLAIN, pyproject=named)
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["dependencies"] == [
        "verifiers>=0.4,<0.5",
        "verifiers-extra",
        "nltk",
        "datasets>=2",
    ]
    assert project["project"]["requires-python"] == ">=3.11,>=3.10"
    assert project["tool"]["verifiers"]["eval"] == {"num_examples": 7}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["sums"]}


JUDGED = """
import os

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI

PROMPT = "Is {response} like {answer}, asked {question}?"


def load_environment(judge_model: str = "gpt-4.1-mini", judge_key: str = "JUDGE_KEY", n: int = 4):
    data = Dataset.from_list([{"question": str(n), "answer": str(n)} for n in range(n)])
    client = AsyncOpenAI(api_key=os.getenv(judge_key))
    parser = vf.XMLParser(["answer"])
    rubric = vf.JudgeRubric(
        judge_client=client, judge_model=judge_model, judge_prompt=PROMPT, parser=parser
    )

    async def liked(judge, prompt, completion, answer, state):
        verdict = await judge(prompt, completion, answer, state)
        return float("yes" in verdict)

    rubric.add_reward_func(liked, weight=0.5)
    return vf.SingleTurnEnv(dataset=data, rubric=rubric)
"""


def test_a_judge_is_a_config_that_its_rewards_are_called_with(tmp_path: Path) -> None:
    files, found = migrated(tmp_path, JUDGED)
    text = files["sums/taskset.py"]
    compile(text, "taskset.py", "exec")
    assert (
        "    judge: vf.JudgeConfig = vf.JudgeConfig(model='gpt-4.1-mini', "
        "base_url=v0.OPENAI_URL, api_key_var='JUDGE_KEY')\n"
    ) in text
    assert "judge=v0.judge_of(self.config.judge, trace, parser, PROMPT)" in text
    assert "AsyncOpenAI(" not in text
    assert [each.sentence for each in found.left_out] == [
        "the argument `judge_model`, which is `task.judge.model` now",
        "the argument `judge_key`, which is `task.judge.api_key_var` now",
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "judge_model=judge_model",
            "judge_model=choose()",
            "`choose()`, the judge's model, cannot",
        ),
        ("os.getenv(judge_key)", "judge_key", "the key of the judge is not read from a variable"),
        (
            "AsyncOpenAI(api_key",
            "AsyncOpenAI(timeout=3, api_key",
            "`timeout` of the judge's client",
        ),
        ("judge_prompt=PROMPT", "judge_prompt=judge_key", "the prompt of the judge is an argument"),
        ("parser=parser\n", "parser=parser, judge_sampling_args=made()\n", "cannot be read here"),
        (
            "answer, state)\n        return",
            "answer, state)\n        note(state)\n        return",
            "state",
        ),
    ],
)
def test_what_of_a_judge_has_no_v1_form_is_refused(
    before: str, after: str, told: str, tmp_path: Path
) -> None:
    assert before in JUDGED
    with pytest.raises(CannotMigrate) as caught:
        migrated(tmp_path, JUDGED.replace(before, after))
    assert any(told in str(each) for each in caught.value.remarks)
