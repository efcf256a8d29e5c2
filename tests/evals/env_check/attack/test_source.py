"""What the source shows, by line, and what it does not."""

import pytest

from prime_cli.evals.env_check.attack.source import findings_in

HEAD = "import random\nimport requests\nimport numpy as np\nfrom datasets import load_dataset\n"
REWARD = "def right(completion, answer):\n    "


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("ROWS = random.sample(range(9), 3)", "unseeded-random"),
        ("ORDER = np.random.permutation(9)", "unseeded-random"),
        (f"{REWARD}return requests.get(answer).ok", "reward-network"),
        ("def tool(code):\n    return eval(code)", "eval"),
        (f"{REWARD}return float(completion) == 0.1", "float-equality"),
        (
            f"{REWARD}try:\n        return 1\n    except Exception:\n        return 0",
            "swallowed-exception",
        ),
        ("DATA = load_dataset('x')", "data-at-import"),
        ("def load():\n    return open('rows.jsonl')", "missing-file"),
        ("def judge(c):\n    c.create(model='m', messages=[])", "no-max-tokens"),
        (f"{REWARD}open('log', 'w').write(answer)", "reward-side-effect"),
    ],
)
def test_what_harms_rewards_is_found_with_its_line(code: str, rule: str) -> None:
    found = list(findings_in("env.py", HEAD + code, set(), {"there.jsonl"}))
    assert [(each.rule, each.file) for each in found] == [(rule, "env.py")]
    assert found[0].line >= HEAD.count("\n") + 1


@pytest.mark.parametrize(
    "code",
    [
        "RNG = random.Random(3)\nROWS = RNG.sample(range(9), 3)",
        "random.seed(1)\nROWS = random.sample(range(9), 3)",
        f"{REWARD}return float(completion == answer)",
        f"{REWARD}try:\n        return 1\n    except ValueError:\n        return 0",
        "def load():\n    return load_dataset('x')",
        "def load():\n    return open('data/there.jsonl')",
        "def judge(c):\n    c.create(model='m', messages=[], max_tokens=5)",
        "def load(path):\n    requests.get(path)",
        "no python",
    ],
)
def test_what_is_right_is_not_named(code: str) -> None:
    assert list(findings_in("env.py", HEAD + code, set(), {"there.jsonl"})) == []


def test_only_the_functions_of_the_rubric_are_rewards_where_these_are_known() -> None:
    code = f"{REWARD}return 1\ndef other(answer):\n    return float(answer) == 0.5"
    assert [each.line for each in findings_in("env.py", code, set(), set())] == [4]
    assert list(findings_in("env.py", code, {1}, set())) == []
