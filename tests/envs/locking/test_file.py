"""prime.lock on the disk: sorted, small differences, and refused in a sentence when broken."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.envs.locking.file import (
    FILENAME,
    LockedEnvironment,
    make_lock,
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
        (f'{GOOD}sha256 = "{"ab" * 32}"\n'.replace("b-1-py3-none-any", "b"), "is none"),
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


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILENAME).write_bytes(b"schema = 1 # \xff\n")
    with pytest.raises(UsageError, match="cannot be read"):
        read_lock(tmp_path / FILENAME)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    write_lock(tmp_path / FILENAME, make_lock([entry(), entry(owner="eve")]))
    with pytest.raises(UsageError, match="names `wordle` twice"):
        read_lock(tmp_path / FILENAME)
