"""prime.lock on the disk: sorted, small differences, and refused in a sentence when broken."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import BadProject, BadReference, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.envs.lockfile.file import (
    FILENAME,
    LockedEnvironment,
    find_lock,
    find_lock_location,
    locked_ref,
    make_lock,
    pinned_hash,
    read_lock,
    write_lock,
)

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)


def entry(name: str = "wordle", version: str = "1.2", owner: str = "ada") -> LockedEnvironment:
    return LockedEnvironment(
        ref=f"{owner}/{name}@{version}",
        wheel=f"{name}-{version}-py3-none-any.whl",
        sha256="ab" * 32,
        asked=f"{owner}/{name}",
    )


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    file = tmp_path / FILENAME
    write_lock(file, make_lock([entry("zebra"), entry()]))
    assert file.read_text(encoding="utf-8") == (
        "# Written by `prime env lock`, and installed by `prime env sync`. Commit this file.\n"
        "schema = 1\n"
        "\n[[environment]]\n"
        'ref = "ada/wordle@1.2"\n'
        'wheel = "wordle-1.2-py3-none-any.whl"\n'
        f'sha256 = "{"ab" * 32}"\n'
        'asked = "ada/wordle"\n'
        "\n[[environment]]\n"
        'ref = "ada/zebra@1.2"\n'
        'wheel = "zebra-1.2-py3-none-any.whl"\n'
        f'sha256 = "{"ab" * 32}"\n'
        'asked = "ada/zebra"\n'
    )


@given(st.lists(st.tuples(NAMES, st.from_regex(r"[0-9]\.[0-9]", fullmatch=True)), unique_by=str))
def test_what_was_written_is_read_again_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[str, str]]
) -> None:
    entries = {name: entry(name, version) for name, version in found}.values()
    file = tmp_path_factory.mktemp("lock") / FILENAME
    write_lock(file, make_lock(entries))
    assert read_lock(file) == make_lock(reversed(list(entries)))


GOOD = 'schema = 1\n[[environment]]\nref = "a/b@1"\nwheel = "b-1-py3-none-any.whl"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< HEAD\nschema = 1\n", "cannot be read"),
        ("schema = 2\n", "schema 2"),
        ('schema = "1"\n', "schema"),
        (GOOD, "sha256"),
        (f'{GOOD}sha256 = "12"\n', "64 hexadecimal"),
        (f'{GOOD}sha256 = "{"ab" * 32}"\n'.replace("a/b@1", "a/b"), "no version"),
        (f'{GOOD}sha256 = "{"ab" * 32}"\n'.replace("a/b@1", "../b@1"), "not an environment"),
        (f'{GOOD}sha256 = "{"ab" * 32}"\n'.replace('"b-1', '"../b-1'), "the wheel of `a/b@1`"),
        (f'{GOOD}sha256 = "{"ab" * 32}"\n'.replace("b-1-py3-none-any", "b"), "is invalid"),
        (f'{GOOD}sha256 = "{"ab" * 32}"\nasked = "x"\n', "not an environment"),
    ],
)
def test_a_broken_file_is_refused_by_name(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / FILENAME
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_lock(file)
    assert str(file) in caught.value.message
    assert said in caught.value.message


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILENAME).write_bytes(b"schema = 1 # \xff\n")
    with pytest.raises(UsageError, match="cannot be read"):
        read_lock(tmp_path / FILENAME)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    write_lock(tmp_path / FILENAME, make_lock([entry(), entry(owner="eve")]))
    with pytest.raises(UsageError, match="contains `wordle` twice"):
        read_lock(tmp_path / FILENAME)


def write_list(folder: Path, *refs: str) -> None:
    listed = ", ".join(f'"{ref}"' for ref in refs)
    text = f"[tool.prime]\nenvironments = [{listed}]\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_the_list_of_pyproject_is_what_is_wanted(tmp_path: Path) -> None:
    write_list(tmp_path, "ada/wordle", "ada/maths@1.0")
    below = tmp_path / "notebooks"
    below.mkdir()
    place = find_lock_location(below)
    assert place.folder == tmp_path
    assert place.lock is None
    assert place.wanted == (EnvRef("ada", "wordle"), EnvRef("ada", "maths", "1.0"))


def test_a_project_inside_of_the_workspace_has_its_lock(tmp_path: Path) -> None:
    write_lock(tmp_path / FILENAME, make_lock([]))
    project = tmp_path / "environments" / "mine"
    project.mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\n', encoding="utf-8")
    assert find_lock_location(project).folder == tmp_path
    assert find_lock(project) == make_lock([])


def test_a_lock_is_begun_beside_pyproject_else_here(tmp_path: Path) -> None:
    below = tmp_path / "project" / "notebooks"
    below.mkdir(parents=True)
    assert find_lock_location(below).folder == below
    (tmp_path / "project" / "pyproject.toml").write_text("", encoding="utf-8")
    assert find_lock_location(below).folder == tmp_path / "project"


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")
def test_what_anybody_could_have_left_above_is_not_obeyed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    here = shared / "mine"
    here.mkdir(parents=True)
    write_lock(shared / FILENAME, make_lock([]))
    assert find_lock(here) is not None
    shared.chmod(0o1777)
    assert find_lock(here) is None
    assert find_lock_location(here).folder == here
    assert find_lock(shared) is not None


@pytest.mark.parametrize(
    ("refs", "error"),
    [(("ada/wordle", "ada/Wordle@2"), BadProject), (("wordle",), BadReference)],
)
def test_an_invalid_list_is_refused(
    refs: tuple[str, ...], error: type[Exception], tmp_path: Path
) -> None:
    write_list(tmp_path, *refs)
    with pytest.raises(error):
        find_lock_location(tmp_path)


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
