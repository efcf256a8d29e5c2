"""What `prime train --sft` plans, and refuses before anything starts."""

import json
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.wheelhouse import package, wheelhouse

__all__ = ["wheelhouse"]
V0 = "import verifiers as vf\n\ndef load_environment(): ...\n"
ROW = {
    "messages": [
        {"role": "user", "content": "a?"},
        {"role": "assistant", "content": "b"},
    ]
}


@pytest.fixture
def environment(tmp_path: Path, wheelhouse: Path) -> str:
    return str(package(tmp_path, V0).path)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    return path


def test_a_step_is_of_rows_at_the_rate_of_fine_tuning(
    prime: Prime, environment: str, rows: Path
) -> None:
    words = ("-m", "some/model", "--sft", "--data", str(rows), "--dry-run")
    done = prime("train", environment, *words, "--steps", "3", "--batch", "4").ok()
    assert f"3 steps of 4 rows, from {rows}" in " ".join(done.out.split())
    assert "learning rate 2e-05" in done.out
    given = prime("train", environment, *words, "--lr", "0.5").ok()
    assert "learning rate 0.5" in given.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("-r", "4", "-T", "0.5"), "-T"),
        (("-n", "5"), "-n"),
        (("--no-probe",), "probe"),
        (("--vllm",), "vllm"),
        (("--max-error-rate", "0.5"), "--max-error-rate"),
        (("--set", "beta=0.1"), "`--set beta` means nothing with `--sft`"),
        (("--engine", "prime-rl"), "a program of its own"),
    ],
)
def test_what_means_nothing_for_rows_is_refused_by_name(
    prime: Prime, environment: str, rows: Path, words: tuple[str, ...], named: str
) -> None:
    done = prime(
        *("train", environment, "-m", "some/model", "--sft", "--data", str(rows), "--dry-run"),
        *words,
    )
    assert (done.code, named in done.err) == (2, True), done.err


def test_a_file_of_the_official_client_is_planned_and_flags_win(
    prime: Prime, environment: str, rows: Path, tmp_path: Path
) -> None:
    file = tmp_path / "sft.toml"
    text = f"""
max_steps = 20
[model]
name = "some/model"
[data]
name = "{rows.name}"
batch_size = 64
[eval]
source = [{{ name = "x", env = {{ taskset = {{ id = "{environment}" }} }} }}]
"""
    file.write_text(text, encoding="utf-8")
    done = prime("train", str(file), "--sft", "--dry-run", "--batch", "2").ok()
    assert f"20 steps of 2 rows, from {rows}" in " ".join(done.out.split())
    assert "all weights, learning rate 1e-06" in done.out
    assert prime("train", "run", str(file), "--dry-run").ok()  # told by its `[data]`


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[model]\nname = "m"\n[data]\nname = "rows.jsonl"\n', "names no environment"),
        ('model = "m"\n[[env]]\nid = "a/b"\n', "it has no `[data]`"),
    ],
)
def test_a_file_that_cannot_be_judged_or_learned_from_is_refused(
    prime: Prime, rows: Path, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "sft.toml"
    file.write_text(text, encoding="utf-8")
    done = prime("train", str(file), "--sft", "--dry-run")
    assert (done.code, says in done.err) == (2, True), done.err
