from typing import Any

import httpx
import pytest

from tests.hub.pushing import HUB, Push, data, make_sources


@pytest.fixture
def inspected(client: httpx.Client) -> httpx.Client:
    push = Push(client)
    push.sources = make_sources(
        {
            "pyproject.toml": "[project]",
            "word/data/list.txt": "äbc",
            "word/__init__.py": "",
            "README.md": "# Word",
        }
    )
    return push.run().client


def inspect(client: httpx.Client, query: str = "") -> Any:
    return data(client.get(f"{HUB}/ada/word/@latest/inspect?{query}"))


def test_root_lists_folders_before_files(inspected: httpx.Client) -> None:
    found = inspect(inspected)
    assert found["kind"] == "directory"
    assert [(entry["path"], entry["is_directory"]) for entry in found["entries"]] == [
        ("word", True),
        ("README.md", False),
        ("pyproject.toml", False),
    ]
    assert found["entries"][1]["size"] == 6


@pytest.mark.parametrize("path", ["word", "word/", "/word"])
def test_folder_lists_what_lies_directly_in_it(inspected: httpx.Client, path: str) -> None:
    entries = inspect(inspected, f"path={path}")["entries"]
    assert [entry["path"] for entry in entries] == ["word/data", "word/__init__.py"]
    assert [entry["name"] for entry in entries] == ["data", "__init__.py"]


def test_file_is_shown_whole_or_cut(inspected: httpx.Client) -> None:
    whole = inspect(inspected, "path=word/data/list.txt")
    assert (whole["kind"], whole["content"], whole["truncated"]) == ("file", "äbc", False)
    cut = inspect(inspected, "path=word/data/list.txt&max_bytes=3")
    assert (cut["content"], cut["truncated"], cut["total_bytes"]) == ("äb", True, 4)


@pytest.mark.parametrize(
    ("query", "status"),
    [("path=nothing", 404), ("path=../etc/passwd", 404), ("max_bytes=some", 422)],
)
def test_what_cannot_be_shown_is_refused(inspected: httpx.Client, query: str, status: int) -> None:
    answer = inspected.get(f"{HUB}/ada/word/@latest/inspect?{query}")
    assert answer.status_code == status
