"""What `prime train` plans, and refuses before anything starts."""

from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.wheelhouse import package, wheelhouse

__all__ = ["wheelhouse"]
V0 = "import verifiers as vf\n\ndef load_environment(): ...\n"


@pytest.fixture
def environment(tmp_path: Path, wheelhouse: Path) -> str:
    return str(package(tmp_path, V0).path)


def test_a_training_needs_an_environment(prime: Prime) -> None:
    done = prime("train", "-m", "some/model")
    assert done.code == 2
    assert "Missing argument ENVIRONMENT" in done.err


@pytest.mark.parametrize(
    ("words", "code", "meant"),
    [
        (("lst",), 2, "did you mean `prime train list`?"),
        (("shwo", "-m", "some/model"), 6, "did you mean `prime train show`?"),
        (("status", "1f2e3d4c"), 2, "did you mean `prime train show RUN`?"),
        (("nosuch",), 2, "`-m FOLDER`, or a name on Hugging Face"),
    ],
)
def test_a_word_that_is_no_environment_may_be_a_command(
    prime: Prime, words: tuple[str, ...], code: int, meant: str
) -> None:
    done = prime("train", *words)
    assert (done.code, meant in done.err) == (code, True), done.err


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ((), "2048 tokens"),
        (("-t", "32"), "32 tokens"),
        (("-t", "32", "-S", '{"max_tokens": 64}'), "64 tokens"),
        (("-S", '{"max_completion_tokens": 96}'), "96 tokens"),
        (("-S", '{"extra_body": {"chat_template_kwargs": {"a": 1}}}'), "2048 tokens"),
    ],
)
def test_the_length_of_answers_is_what_was_given(
    prime: Prime, environment: str, given: tuple[str, ...], length: str
) -> None:
    done = prime("train", environment, "-m", "some/model", *given, "--dry-run")
    assert "never attacked here: try `prime env check" in done.out
    assert done.code == 0, done.err
    assert f"temperature 1, {length}" in done.out


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--batch", "16", "-r", "8"), 128),
        (("--batch", "2", "-r", "4"), 32),
        (("--batch", "16", "-r", "8", "-c", "4"), 4),
    ],
)
def test_a_step_runs_at_once_unless_less_was_given(
    prime: Prime, environment: str, words: tuple[str, ...], count: int
) -> None:
    done = prime("train", environment, "-m", "some/model", *words, "--dry-run", "--output", "json")
    assert done.code == 0, done.err
    assert f'"concurrency": {count},' in done.out


def test_a_model_without_weights_is_refused_at_once(prime: Prime, environment: str) -> None:
    done = prime("train", environment, "-m", "builtin/oracle", "--dry-run")
    assert done.code == 2
    assert "`builtin/oracle` has no weights to train" in done.err


def test_processes_share_the_prompts_of_a_step(prime: Prime, environment: str) -> None:
    words = ("train", environment, "-m", "some/model", "--dry-run", "--processes")
    done = prime(*words, "2")
    assert done.code == 0, done.err
    assert "trl, 2 processes on CPU" in done.out
    refused = prime(*words, "3")
    assert refused.code == 2
    assert "A step of 8 prompts cannot be divided among 3 processes" in refused.err
    assert "`--batch 9`" in refused.err


@pytest.mark.parametrize("sampling", ['{"top_p": 0.9}', '{"extra_body": {"top_p": 0.9}}'])
def test_sampling_that_the_policy_of_trl_would_ignore_is_refused(
    prime: Prime, environment: str, sampling: str
) -> None:
    done = prime("train", environment, "-m", "some/model", "-S", sampling, "--dry-run")
    assert done.code == 2
    assert "`top_p` cannot be set with TRL" in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--lr", "0"), "A learning rate of 0 changes no weight"),
        (("--lr", "nan"), "`--lr`: nan is not a number"),
        (("--lr", "inf"), "`--lr`: inf is not a number"),
        (("--warmup", "5", "--steps", "5"), "A warm-up of 5 steps leaves none of the 5"),
        (("--lora-alpha", "32"), "`--lora-alpha` is of adapters, and all weights are trained"),
        (("--lora-targets", "q_proj"), "`--lora-targets` is of adapters"),
        (("--solved", "0.1..0.9"), "`--solved` needs an evaluation"),
        (("--push-to-hub", "mine"), "`--push-to-hub mine` is no repository of Hugging Face"),
        (("--max-hours", "0"), "`--max-hours 0` leaves no time to train"),
        (("-T", "-0.5"), "give a temperature above 0"),
        (("-t", "0"), "An answer needs at least one token, not 0"),
        (("-r", "1"), "A group of one rollout teaches nothing"),
    ],
)
def test_numbers_that_no_training_can_have_are_refused(
    prime: Prime, environment: str, words: tuple[str, ...], sentence: str
) -> None:
    done = prime("train", environment, "-m", "some/model", *words, "--dry-run")
    assert done.code == 2
    assert sentence in done.err


def test_a_push_needs_a_token_of_hugging_face(
    prime: Prime, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("train", environment, "-m", "some/model", "--push-to-hub", "ada/sorter", "--dry-run")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    refused = prime(*words)
    assert refused.code == 4
    assert "without a token" in refused.err
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    done = prime(*words)
    assert done.code == 0, done.err
    assert "huggingface.co/ada/sorter, private if it is new" in done.out
    assert "hf_secret" not in done.out + done.err
