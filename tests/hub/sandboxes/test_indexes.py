"""The package indexes of a user, as sandboxes reach them."""

from pathlib import Path

import pytest

from prime_cli.hub.sandboxes.indexes import find_indexes


def mirror(folder: Path, link: str) -> Path:
    """An index in `folder`, one page of which has `link`, beside a folder of files and another."""
    page = folder / "simple" / "numpy" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="{link}#sha256=00">numpy</a>', encoding="utf-8")
    (folder / "files").mkdir()
    (folder / "private").mkdir()
    return folder / "simple"


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ("../../files/numpy-2.0-py3-none-any.whl", ["simple", "files"]),
        ("numpy-2.0-py3-none-any.whl", ["simple"]),
        ("../../../outside/numpy-2.0-py3-none-any.whl", ["simple"]),
        ("../../nowhere/numpy-2.0-py3-none-any.whl", ["simple"]),
        ("file:///etc/numpy-2.0-py3-none-any.whl", ["simple"]),
    ],
)
def test_the_files_of_a_mirror_are_there_and_nothing_else(
    tmp_path: Path, link: str, there: list[str]
) -> None:
    index = mirror(tmp_path, link)
    found = find_indexes({"PIP_EXTRA_INDEX_URL": index.as_uri(), "PIP_CONFIG_FILE": "/dev/null"})
    assert found.folders == tuple(str(tmp_path / name) for name in there)
    assert found.variables == {"PIP_EXTRA_INDEX_URL": index.as_uri()}


def test_passwords_of_indexes_stay_here() -> None:
    environ = {"UV_INDEX_URL": "https://ada:secret@pypi.lab:8443/simple"}
    found = find_indexes({**environ, "PIP_CONFIG_FILE": "/dev/null"})
    assert found.hosts == ("pypi.lab:8443",)
    assert found.variables == {"UV_INDEX_URL": "https://pypi.lab:8443/simple"}
