"""Small environments as their authors have them in a folder, for an official client to push."""

from pathlib import Path

PYPROJECT = """\
[project]
name = "{name}"
version = "{version}"
description = "A tiny environment"
tags = ["tiny", "single-turn"]
requires-python = ">=3.10"
dependencies = []

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build]
include = ["{module}.py"]
"""


def write_project(folder: Path, name: str, version: str = "0.1.0") -> Path:
    """A project without dependencies, so that an install fetches nothing but it; its folder."""
    module = name.replace("-", "_")
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        PYPROJECT.format(name=name, version=version, module=module), encoding="utf-8"
    )
    (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")
    (folder / f"{module}.py").write_text(
        f'VERSION = "{version}"\n\n\ndef load_environment():\n    return VERSION\n',
        encoding="utf-8",
    )
    return folder
