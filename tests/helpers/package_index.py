"""A simple package index (PEP 503) on this machine, which uv asks instead of any other."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from prime_cli.core.digests import digest_file
from prime_cli.core.refs import normalize_name
from tests.helpers.venvs import empty_cache
from tests.helpers.wheelhouse import write_wheelhouse
from tests.helpers.wild import write_wheel

TAGS = (
    "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64",
    "cp311-cp311-macosx_11_0_arm64",
    "cp311-cp311-win_amd64",
    "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64",
)
"""The wheels that `native-tools` has, one for each of a few machines."""

_BACKEND = """
import zipfile

METADATA = "Metadata-Version: 2.1\\nName: only-sources\\nVersion: 1.0\\n"
WHEEL = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "only_sources-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        wheel.writestr("only_sources.py", "VALUE = 1\\n")
        wheel.writestr("only_sources-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("only_sources-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("only_sources-1.0.dist-info/RECORD", "")
    return name
"""
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "only-sources"
version = "1.0"
"""


def write_index(folder: Path) -> Path:
    """Write packages and the pages that list them below `folder`/simple.

    Beside what `write_wheelhouse` has: `native-tools` 1.0, with a wheel for each of TAGS, and
    `only-sources` 1.0, which has none.
    """
    files = write_wheelhouse(folder / "files")
    for tag in TAGS:
        source = {"native_tools.py": f"TAG = {tag!r}\n"}
        plain = write_wheel(files / "x", source, name="native_tools", version="1.0", requires=())
        plain.rename(files / f"native_tools-1.0-{tag}.whl")
    write_sdist(files / "only_sources-1.0.tar.gz")
    pages: dict[str, list[Path]] = {}
    for path in sorted(p for p in files.iterdir() if p.is_file()):
        pages.setdefault(normalize_name(path.name.split("-")[0]), []).append(path)
    for name, paths in pages.items():
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True)
        links = [f'<a href="/files/{p.name}#sha256={digest_file(p)}">{p.name}</a>' for p in paths]
        page.write_text("<br>".join(links), encoding="utf-8")
    return folder


def write_sdist(path: Path) -> None:
    """Write the sources of `only-sources` 1.0."""
    members: Mapping[str, str] = {
        "PKG-INFO": "Metadata-Version: 2.2\nName: only-sources\nVersion: 1.0\n",
        "pyproject.toml": _PROJECT,
        "backend.py": _BACKEND,
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"only_sources-1.0/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))


@pytest.fixture
def index(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    file_server: str,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The URL of such an index; uv has a new cache, so that nothing else answers in its place."""
    write_index(tmp_path / "served")
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{file_server}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(empty_cache(tmp_path_factory.mktemp("uv"))))
    return f"{file_server}/simple"
