"""Names within archives: safe ones stay below their folder, and which of them Windows can have."""

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prime_cli.archive.limits import is_windows_name, safe_name
from prime_cli.core.errors import UnsafeContent

NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1
)


@settings(max_examples=200)
@given(st.lists(st.one_of(NAMES, st.sampled_from(["..", ".", "", "a:"])), min_size=1).map("/".join))
@example("a/./b")
def test_a_safe_name_stays_below_its_folder(raw: str) -> None:
    try:
        name = safe_name(raw)
    except UnsafeContent:
        return
    assert not name.startswith("/")
    assert ".." not in name.split("/")
    assert safe_name(name) == name
    assert os.path.normpath(f"/top/{name}").startswith(os.path.normpath("/top/"))


@pytest.mark.parametrize(
    "name",
    [
        "con",
        "a/NUL.txt",
        "aux.py",
        "x/com1",
        "lpt9.log",
        "ab:c",
        "what?.txt",
        "a ",
        "a./b",
        "com\u00b9",
    ],
)
def test_names_that_windows_gives_another_meaning_are_known(name: str) -> None:
    assert not is_windows_name(safe_name(name))


@pytest.mark.parametrize("name", ["console.py", "a/nullable.txt", ".gitignore", "com10", "a b.c"])
def test_names_that_windows_takes_are_known(name: str) -> None:
    assert is_windows_name(safe_name(name))
