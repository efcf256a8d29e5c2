"""A prime.lock answers for what it holds, and for nothing else."""

from pathlib import Path

import pytest

from prime_cli.core.refs import EnvRef
from prime_cli.envs.locking.file import FILENAME, LockedEnvironment, make_lock, write_lock
from prime_cli.envs.locking.pins import locked_ref, pinned_hash

SHA = "ab" * 32


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a lock of one environment."""
    entry = LockedEnvironment(
        ref="ada/Word_le@1.2", wheel="word_le-1.2-py3-none-any.whl", sha256=SHA, asked="ada/word-le"
    )
    write_lock(tmp_path / FILENAME, make_lock([entry]))
    return tmp_path


@pytest.mark.parametrize("ref", ["ada/word-le@1.2", "ada/Word_le", EnvRef("ada", "word.le", "1.2")])
def test_a_locked_environment_has_a_pinned_hash(here: Path, ref: EnvRef | str) -> None:
    assert pinned_hash(ref, here) == SHA


@pytest.mark.parametrize("ref", ["ada/word-le@1.3", "eve/word-le", "ada/other"])
def test_what_is_not_locked_has_none(here: Path, ref: str) -> None:
    assert pinned_hash(ref, here) is None


def test_without_a_lock_nothing_is_pinned(tmp_path: Path) -> None:
    assert pinned_hash("ada/wordle", tmp_path) is None
    assert locked_ref("ada/wordle", tmp_path) is None


@pytest.mark.parametrize("word", ["word-le", "Word_le", "ada/word_le"])
def test_a_word_without_a_version_means_the_locked_one(here: Path, word: str) -> None:
    below = here / "environments" / "other"
    below.mkdir(parents=True)
    assert locked_ref(word, below) == EnvRef("ada", "Word_le", "1.2", SHA)


@pytest.mark.parametrize("word", ["word-le@1.1", "word-le@latest", "eve/word-le", "x", "a/b/c", ""])
def test_other_words_are_left_as_they_are(here: Path, word: str) -> None:
    assert locked_ref(word, here) is None
