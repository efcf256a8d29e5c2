"""`prime train --engine prime-rl` and config files; the checkout is a stand-in."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.prime_rl import fake_checkout
from tests.helpers.wheelhouse import package, wheelhouse

__all__ = ["wheelhouse"]
V1 = "import verifiers.v1 as vf\n\nclass Letters(vf.Taskset): ...\n"


@pytest.fixture
def letters(tmp_path: Path, wheelhouse: Path) -> str:
    return str(package(tmp_path, V1, name="letters", requires=("verifiers>=0.4",)).path)


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    checkout = fake_checkout(tmp_path / "prime-rl")
    return ["-m", "Qwen/Qwen3-0.6B", "--engine", "prime-rl", "--engine-dir", str(checkout)]


def _folder(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "outputs" / "train").glob("*/*")
    return found


def test_the_file_is_written_and_judged_in_the_checkout(
    prime: Prime, letters: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.toml"
    several = '[deployment]\ntype = "multi_node"\nnum_train_nodes = 2\n[slurm]\n'
    mine.write_text(several, encoding="utf-8")
    flags = ["--steps", "3", "-r", "4", "--batch", "2", "-a", '{"n": 8}', "--lora", "8"]
    done = prime("train", letters, *words, *flags, "--dry-run", "@", str(mine), "--", "--clean")
    assert done.code == 0, done.err
    folder = _folder(tmp_path)
    written = tomllib.loads((folder / "prime-rl.toml").read_text())
    assert written["orchestrator"]["batch_size"] == 8
    (source,) = written["orchestrator"]["train"]["source"]
    assert source["env"]["taskset"] == {"id": "letters", "n": 8}
    assert written["trainer"]["model"]["lora"] == {"rank": 8, "alpha": 16}
    assert "deployment" not in written
    seen = json.loads((folder / "prime-rl" / "seen.json").read_text())
    assert seen["words"] == ["--clean", "--dry-run"]
    assert "slurm" in seen["config"]
    assert "Installing letters 0.1.0 in" in done.err
    assert "ends without a verdict" in done.err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--sandbox"], "`--sandbox` has no effect on prime-rl"),
        (["--eval-every", "5"], "`--eval-every` has no effect on prime-rl"),
        (["--push-to-hub", "ada/m"], "`--push-to-hub` has no effect on prime-rl"),
        (["--from-run", "1f2e"], "`--from-run` has no effect on prime-rl"),
        (["--report", "trackio"], "prime-rl reports to wandb alone"),
        (["mine.toml"], "Unexpected argument `mine.toml`"),
        (["@", "none.toml"], "There is no file none.toml"),
    ],
)
def test_what_prime_rl_cannot_be_told_is_refused(
    prime: Prime, letters: str, words: list[str], flags: list[str], sentence: str
) -> None:
    done = prime("train", letters, *words, *flags)
    assert done.code in (2, 6)
    assert sentence in done.err


def test_prime_rl_needs_its_checkout(prime: Prime, letters: str) -> None:
    done = prime("train", letters, "-m", "m", "--engine", "prime-rl")
    assert done.code == 2
    assert "--engine-dir FOLDER" in done.err


def test_a_training_with_prime_rl_needs_gpus(
    prime: Prime, letters: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = prime("train", letters, *words)
    assert done.code == 2
    assert "none is visible on this machine" in done.err


def test_a_config_file_is_read_as_the_flags(
    prime: Prime, letters: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "config.toml"
    text = f'model = "file/model"\nmax_steps = 7\nbatch_size = 16\n[[env]]\nid = "{letters}"\n'
    config.write_text(text, encoding="utf-8")
    own = [*words[2:], "--lora", "0"]
    done = prime("train", str(config), *own, "--dry-run")
    assert done.code == 0, done.err
    written = tomllib.loads((_folder(tmp_path) / "prime-rl.toml").read_text())
    assert (written["model"], written["max_steps"]) == ({"name": "file/model"}, 7)
    assert written["orchestrator"]["batch_size"] == 16
    assert "model" not in written["trainer"]
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("modle = 1\n" + text, encoding="utf-8")
    refused = prime("train", str(wrong))
    assert refused.code == 2
    assert "did you mean `model`?" in refused.err


def test_an_engine_without_own_words_refuses_them(prime: Prime) -> None:
    done = prime("train", "tiny", "-m", "m", "@", "mine.toml")
    assert done.code == 2
    assert "--set KEY=VALUE" in done.err
    placeholder = prime("train", "tiny", "-m", "m", "--engine", "torchforge")
    assert "empty placeholder on PyPI" in placeholder.err
