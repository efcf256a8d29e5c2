"""A folder of wheels for uv to resolve from instead of an index: no network, a second a search.

Its `verifiers` are stand-ins with the names and the Pythons of the releases they are called
after, so that a search meets the same obstacles as with the real ones.
"""

from datetime import datetime
from pathlib import Path

import pytest

from prime_cli.runtime.packages import WheelPackage, read_package
from tests.helpers.wild import write_wheel

_V0 = """
import importlib

def load_environment(env_id, **arguments):
    return importlib.import_module(env_id).load_environment(**arguments)

class Rubric: ...
class SingleTurnEnv:
    def __init__(self, dataset=None):
        self.dataset = dataset() if callable(dataset) else dataset
    def get_eval_dataset(self, n=-1, **options): return [{"question": "a"}]
class MultiTurnEnv: ...
class ToolEnv: ...
"""
# As before 0.1.10, which takes a function that builds the data set.
_EARLY = _V0.replace("dataset() if callable(dataset) else dataset", "dataset and dataset.columns")
_TOOL_RUBRIC = "class ToolRubric: ...\n"
_STOP = "def stop(function): return function\n"
_METRIC = "def metric(function): return function\n"
_V1 = "class Taskset: ...\nclass Task: ...\nclass Harness: ...\n"

RELEASES: dict[str, tuple[str, dict[str, str]]] = {
    "0.1.5.post0": (">=3.10,<3.14", {"": _EARLY + _TOOL_RUBRIC}),
    "0.1.9.post3": (">=3.10,<3.14", {"": _EARLY + _STOP}),
    "0.1.12": (">=3.10,<3.14", {"": _V0 + _STOP}),
    "0.1.14": (">=3.10,<3.14", {"": _V0 + _STOP + _METRIC}),
    "0.3.1": (">=3.11,<3.14", {"": _V0 + _STOP + _METRIC, "v1": _V1}),
    "0.4.0": (">=3.11,<3.15", {"": "", "v1": _V1}),
}


def write_wheelhouse(folder: Path) -> Path:
    """Write every stand-in release of verifiers, and `dataset-tools` 1.0 and 2.0rc1."""
    for version, (python, modules) in RELEASES.items():
        files = {
            f"verifiers/{name}/__init__.py" if name else "verifiers/__init__.py": text
            for name, text in modules.items()
        }
        write_wheel(
            folder, files, name="verifiers", version=version, requires=(), requires_python=python
        )
    for version in ("1.0", "2.0rc1"):
        files = {"dataset_tools.py": f"VERSION = {version!r}\n"}
        write_wheel(folder, files, name="dataset_tools", version=version, requires=())
    return folder


@pytest.fixture
def wheelhouse(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """uv resolves from this folder and opens no connection."""
    folder = write_wheelhouse(tmp_path_factory.mktemp("wheelhouse"))
    resolve_only_from(folder, monkeypatch)
    return folder


def resolve_only_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let uv find the wheels in `folder` and an index that has nothing; it has no UV_NO_INDEX."""
    empty = folder / "index"
    empty.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_DEFAULT_INDEX", empty.as_uri())


def package(
    folder: Path,
    source: str,
    *,
    name: str = "tiny_env",
    requires: tuple[str, ...] = ("verifiers",),
    requires_python: str = ">=3.10",
    published: datetime | None = None,
    files: dict[str, str] | None = None,
    member_prefix: str = "",
) -> WheelPackage:
    """The wheel of an environment with one module of `source`, ready to be run."""
    wheel = write_wheel(
        folder,
        {f"{name}.py": source, **(files or {})},
        name=name,
        requires=requires,
        requires_python=requires_python,
        member_prefix=member_prefix,
    )
    return read_package(wheel, published)
