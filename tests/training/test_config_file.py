from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.training.config_file import FileRequest, read_config_file, with_file
from prime_cli.training.request import Reporter, TrainRequest

PUBLISHED = """
model = "Qwen/Qwen3-30B-A3B-Instruct-2507"
max_steps = 50
batch_size = 256
rollouts_per_example = 16
learning_rate = 1e-4
lora_alpha = 16
oversampling_factor = 2.0
trajectory_strategy = "interleaved"
env_files = ["secrets.env"]

[sampling]
max_tokens = 512
temperature = 0.7
enable_thinking = false

[[env]]
id = "primeintellect/alphabet-sort"
args = { min_turns = 3, max_turns = 5 }

[eval]
interval = 25
num_examples = 100
skip_first_step = true

[wandb]
project = "sorting"

[checkpoints]
interval = 10
keep_cloud = 5
"""
SMALL = 'model = "m"\n[[env]]\nid = "ada/wordle"\n'


def _read(folder: Path, text: str) -> FileRequest:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return read_config_file(path)


def test_the_published_form_says_what_the_flags_would(tmp_path: Path) -> None:
    request = _read(tmp_path, PUBLISHED)
    assert request.values == {
        "environment": "primeintellect/alphabet-sort",
        "model": "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "steps": 50,
        "batch": 16,  # prompts, where the file counts rollouts
        "rollouts_per_example": 16,
        "lr": 1e-4,
        "lora": 16,
        "lora_alpha": 16,
        "env_args": {"min_turns": 3, "max_turns": 5},
        "env_file": tmp_path / "secrets.env",
        "save_every": 10,
        "report": Reporter.WANDB,
        "max_tokens": 512,
        "temperature": 0.7,
        "sampling": {"chat_template_kwargs": {"enable_thinking": False}},
        "eval_every": 25,
        "eval_examples": 100,
    }
    assert request.wandb == {"WANDB_PROJECT": "sorting"}
    (ignored,) = request.said
    assert ignored == (
        "Keys without effect on this machine: `oversampling_factor`, `trajectory_strategy`, "
        "`checkpoints.keep_cloud`, `eval.skip_first_step`"
    )


def test_what_the_file_leaves_out_has_the_defaults_of_hosted_training(tmp_path: Path) -> None:
    request = _read(tmp_path, SMALL)
    assert request.values == {
        "environment": "ada/wordle",
        "model": "m",
        "steps": 100,
        "batch": 16,
        "rollouts_per_example": 8,
        "lr": 1e-4,
        "lora": 16,
    }
    assert not request.said


def test_a_taskset_of_v1_names_the_environment_and_its_arguments(tmp_path: Path) -> None:
    text = """
    model = "m"
    [[env]]
    taskset = { id = "ada/letters", n = 8 }
    harness = { id = "null" }
    version = "1.2"
    """
    values = _read(tmp_path, text).values
    assert (values["environment"], values["env_args"]) == ("ada/letters@1.2", {"n": 8})
    assert values["extra_args"] == {"agent": {"harness": {"id": "null"}}}


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ("modle = 1\n" + SMALL, "`modle` is not a key", "did you mean `model`?"),
        (SMALL + "argz = {}\n", "`env.argz` is not a key", "did you mean `args`?"),
        (SMALL + "[sampling]\nmax_token = 1\n", "`sampling.max_token`", "`max_tokens`?"),
        (SMALL + "[[eval.env]]\nidd = 1\n", "`eval.env.idd` is not a key", "did you mean `id`?"),
        (SMALL + '[[env]]\nid = ""\n', "`env.id` is empty", "remove the line"),
        ("max_steps = 0\n" + SMALL, "max_steps", None),
        ("batch_size = 10\n" + SMALL, "not a multiple", "whole groups"),
        (SMALL + 'ratio = 1\n[[env]]\nid = "b"\n', "1 of 2 environments have a `ratio`", "none"),
        (SMALL + '[[env]]\nid = "b"\nmax_turns = 3\n', "`env.max_turns`", "`args`"),
        (SMALL + '[[eval.env]]\nid = "other"\n', "which is not trained on", "prime eval run"),
        ('loss = "sft"\n' + SMALL, "is not offered", 'only "rl"'),
        ('checkpoint_id = "c"\n' + SMALL, "`checkpoint_id` is not supported", "`model`"),
        (SMALL + "max_turns = 3\n", "`env.max_turns` is not supported", "`args`"),
        ('[model]\nname = "m"\n[orchestrator]\n', "a file of prime-rl", "--engine prime-rl"),
        ('model = "m"\n[[eval]]\nenv_id = "x"\n', "a suite of evaluations", "prime eval run"),
        ('model = "m"\n', "has no `env`", "[[env]]"),
        ("model = \n", "not valid TOML", None),
        ('env_files = ["a", "b"]\n' + SMALL, "names 2 files of variables", "one file"),
    ],
)
def test_what_cannot_be_done_is_refused(
    text: str, sentence: str, hint: str | None, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        _read(tmp_path, text)
    assert sentence in refused.value.message
    assert (hint or "") in (refused.value.hint or "")


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_config_file(tmp_path / "none.toml")


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = _read(tmp_path, PUBLISHED)
    given = {"steps", "model"}
    typed = EvalRequest(model="mine"), TrainRequest(steps=3)
    (request,), asked = with_file(file, *typed, given)
    assert (request.model, request.max_tokens, asked.steps, asked.batch) == ("mine", 512, 3, 16)
    assert request.environment == "primeintellect/alphabet-sort"
    assert asked.report is Reporter.WANDB


SEVERAL = """
model = "m"
[[env]]
id = "ada/wordle"
args = { size = 4 }
ratio = 3
[[env]]
id = "ada/letters"
version = "1.2"
max_retries = 2
ratio = 1
[eval]
num_examples = 20
[[eval.env]]
id = "ada/wordle"
"""


def test_each_environment_is_a_request_of_its_own(tmp_path: Path) -> None:
    file = _read(tmp_path, SEVERAL)
    also = "All environments are evaluated, also ada/letters@1.2, which `[[eval.env]]` leaves out"
    assert (file.ratios, file.said) == ((3, 1), (also,))
    requests, asked = with_file(file, EvalRequest(), TrainRequest(), ())
    assert [(each.environment, each.env_args, each.max_retries) for each in requests] == [
        ("ada/wordle", {"size": 4}, EvalRequest().max_retries),
        ("ada/letters@1.2", None, 2),
    ]
    assert {each.model for each in requests} == {"m"}
    assert asked.eval_examples == 20
    # A flag is for all of them.
    requests, _ = with_file(file, EvalRequest(env_args={"a": 1}), TrainRequest(), {"env_args"})
    assert [each.env_args for each in requests] == [{"a": 1}, {"a": 1}]


def test_shares_follow_from_the_sizes_where_the_file_has_none(tmp_path: Path) -> None:
    assert _read(tmp_path, SMALL + '[[env]]\nid = "ada/letters"\n').ratios == ()


def test_the_alpha_of_a_file_is_of_its_adapters_alone(tmp_path: Path) -> None:
    file = _read(tmp_path, PUBLISHED)
    _, adapters = with_file(file, EvalRequest(), TrainRequest(lora=4), {"lora"})
    assert (adapters.lora, adapters.lora_alpha) == (4, 16)
    _, whole = with_file(file, EvalRequest(), TrainRequest(lora=0), {"lora"})
    assert (whole.lora, whole.lora_alpha) == (0, None)
