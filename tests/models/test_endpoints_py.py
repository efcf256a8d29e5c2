"""endpoints.py is read as text: what it says is understood, what it would do is never done."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.models.endpoints_py import EnvironReference, read_endpoints_dict


def read(source: str, **environ: str) -> dict[str, dict[str, object]]:
    return read_endpoints_dict(source, path="endpoints.py", environ=environ)


def test_plain_entries_are_read() -> None:
    source = 'ENDPOINTS = {"q": {"model": "Qwen", "url": "http://0.0.0.0:8000/v1", "key": "EMPTY"}}'
    assert read(source) == {"q": {"model": "Qwen", "url": "http://0.0.0.0:8000/v1", "key": "EMPTY"}}


def test_names_fstrings_and_sums_are_put_together() -> None:
    source = """
HOST: str = "box"
BASE = {"key": "EMPTY", "url": f"http://{HOST}:8000" + "/v1"}
ENDPOINTS = {"q": {**BASE, "model": "Qwen"}}
"""
    assert read(source)["q"] == {"key": "EMPTY", "url": "http://box:8000/v1", "model": "Qwen"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('os.getenv("K")', EnvironReference("K")),
        ('os.getenv("K", "EMPTY")', EnvironReference("K", "EMPTY")),
        ('os.environ["K"]', EnvironReference("K")),
        ('os.environ.get("K", "x")', EnvironReference("K", "x")),
    ],
)
def test_environment_variables_stay_names(expression: str, expected: EnvironReference) -> None:
    found = read(f'import os\nENDPOINTS = {{"a": {{"key": {expression}}}}}', K="secret")
    assert found == {"a": {"key": expected}}


def test_a_variable_inside_a_text_is_filled_in() -> None:
    source = """ENDPOINTS = {"a": {"url": f"http://{os.getenv('HOST', 'x')}/v1"}}"""
    assert read(source, HOST="box")["a"]["url"] == "http://box/v1"
    assert read(source)["a"]["url"] == "http://x/v1"


def test_entries_added_later_are_read_too() -> None:
    source = 'ENDPOINTS = {"a": {"model": "A"}}\nENDPOINTS["b"] = {"model": "B"}'
    assert read(source) == {"a": {"model": "A"}, "b": {"model": "B"}}


def test_nothing_in_the_file_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    source = f"""
open({str(marker)!r}, "w").close()
ENDPOINTS = {{"a": {{"model": "A", "url": "http://x/v1", "key": "EMPTY"}}}}
if __name__ == "__main__":
    print(ENDPOINTS)
"""
    assert list(read(source)) == ["a"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("ENDPOINTS = {", "is not Python"),
        ("OTHER = {}", "does not assign ENDPOINTS"),
        ('ENDPOINTS = ["a"]', "not a dict of dicts"),
        ('ENDPOINTS = {"a": "b"}', "not a dict of dicts"),
        ('ENDPOINTS = {"a": {"url": open("x").read()}}', "is not a plain value"),
        ('ENDPOINTS = {"a": {"url": unknown}}', "`unknown` is not a plain value"),
        ('ENDPOINTS = {"a": {1: "b"}}', "a string is required"),
        ("A = A\nENDPOINTS = A", "recursive"),
        ("ENDPOINTS = {}\nENDPOINTS.update(load())", "modified by code"),
        ("ENDPOINTS = {}\nfor x in y:\n    ENDPOINTS[x] = {}", "modified by code"),
        ('ENDPOINTS = {"a": {"key": os.getenv(5)}}', "a variable's name"),
    ],
)
def test_what_cannot_be_read_is_reported(source: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("`", ".")):
        read(source)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(PrimeError):
        read(text)


entries = st.dictionaries(
    st.text(max_size=12),
    st.dictionaries(st.text(max_size=8), st.text() | st.integers() | st.none(), max_size=4),
    max_size=4,
)


@given(entries)
def test_what_python_prints_is_read_back(found: dict[str, dict[str, object]]) -> None:
    assert read(f"ENDPOINTS = {found!r}") == found
