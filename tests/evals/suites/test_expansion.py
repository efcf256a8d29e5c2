"""What the sections of a suite's file ask for, beside what vf-eval makes of the same file."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.suites.expansion import expand
from tests.helpers.venvs import venv_python

FILES = {
    "defaults and an override": """
        model = "m"
        num_examples = 10
        [[eval]]
        id = "gsm8k"
        [[eval]]
        env_id = "math-python"
        num_examples = 5
        args = {difficulty = "hard"}
    """,
    "an alias puts out the model of the defaults": """
        model = "m"
        [[eval]]
        id = "a"
        endpoint_id = "fast"
        [[eval]]
        id = "b"
        model = "other"
    """,
    "a sweep over fields and arguments": """
        rollouts_per_example = 2
        [[ablation]]
        id = "my-env"
        args = {size = 3}
        [ablation.sweep]
        temperature = [0.0, 0.5]
        model = ["m1", "m2"]
        [ablation.sweep.args]
        difficulty = ["easy", "hard"]
    """,
    "a sweep over environments, with older words": """
        env_args = {x = 1}
        [[ablation]]
        model = "m"
        [ablation.sweep]
        env_id = ["a", "b"]
        [ablation.sweep.env_args]
        y = [1, 2]
    """,
    "sections of v1's config": """
        [[eval]]
        id = "tasks"
        taskset = {split = "test"}
        harness = {id = "null"}
        env_args = {config = {other = 1}}
    """,
}

VF_EVAL = """
import json, sys
from pathlib import Path
from verifiers.utils.eval_utils import load_toml_config
print(json.dumps(load_toml_config(Path(sys.argv[1]))))
"""


def expanded(text: str) -> list[dict[str, Any]]:
    return expand(tomllib.loads(text))


@pytest.mark.network
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_file_of_vf_eval_means_the_same_here(text: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text, encoding="utf-8")
    command = [str(venv_python("verifiers==0.1.14")), "-c", VF_EVAL, str(path)]
    said = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout
    theirs = [
        {name: value for name, value in cell.items() if name != "env_args"}
        | {"args": cell.get("env_args", {})}
        for cell in json.loads(said.splitlines()[-1])
    ]
    assert expanded(text) == theirs


def test_a_matrix_is_models_by_environments_by_its_sweep_without_what_is_excluded() -> None:
    found = expanded("""
        [[matrix]]
        models = ["small", "large"]
        environments = ["ada/wordle", "ada/sudoku"]
        num_examples = 3
        [matrix.sweep]
        temperature = [0.0, 1.0]
        [[matrix.exclude]]
        model = "large"
        environment = "ada/sudoku"
        [[matrix.exclude]]
        temperature = 1.0
        model = "small"
    """)
    assert [(cell["model"], cell["env_id"], cell["temperature"]) for cell in found] == [
        ("small", "ada/wordle", 0.0),
        ("large", "ada/wordle", 0.0),
        ("large", "ada/wordle", 1.0),
        ("small", "ada/sudoku", 0.0),
    ]
    assert {cell["num_examples"] for cell in found} == {3}


def test_what_is_excluded_may_name_arguments() -> None:
    found = expanded("""
        [[ablation]]
        id = "a"
        [ablation.sweep.args]
        level = [1, 2, 3]
        [[ablation.exclude]]
        args = {level = 2}
    """)
    assert [cell["args"]["level"] for cell in found] == [1, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('model = "m"', "has no evaluations"),
        ('[eval]\nid = "a"', r"\[\[eval\]\]"),
        ("[[eval]]\nmodel = 'm'", "has no environment"),
        ('[[eval]]\nid = "a"\nenv_id = "b"', "twice"),
        ('[[eval]]\nid = "a"\nargs = {x = 1}\nenv_args = {x = 2}', "both have `x`"),
        ('[[ablation]]\nid = "a"', "nothing varies"),
        ('[[ablation]]\nid = "a"\n[ablation.sweep]\ntemperature = 0.5', "a list of values"),
        ('[[ablation]]\nid = "a"\n[ablation.sweep]\ntemperature = []', "a list of values"),
        (
            '[[ablation]]\nid = "a"\nargs = {x = 1}\n[ablation.sweep.args]\nx = [1]',
            "both among `args` and in its sweep",
        ),
        ('[[eval]]\nid = "a"\nargs = 3', "must be a table"),
    ],
)
def test_an_invalid_value_is_reported(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        expanded(text)


@pytest.mark.parametrize("exclude", ["{a = 1}", "[1, [2]]", "3"])
def test_what_is_excluded_must_be_tables(exclude: str) -> None:
    with pytest.raises(UsageError, match=r"must be written \[\[ablation\.exclude\]\]"):
        expanded(f"[[ablation]]\nexclude = {exclude}\n")
