"""Installing into an interpreter by uv and pip, and pulling the sources."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import uv

from tests.official.users import WITHOUT_KEY, User, newer_releases

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]

CODE = "VERSION = {!r}\n\n\ndef load_environment():\n    return VERSION\n"


@dataclass(frozen=True)
class Workspace:
    """A venv, and the variables of a shell in which it is active."""

    venv: Path

    @property
    def active(self) -> dict[str, str]:
        folders = [str(self.venv / "bin"), str(Path(uv.find_uv_bin()).parent), os.environ["PATH"]]
        return {"VIRTUAL_ENV": str(self.venv), "PATH": os.pathsep.join(folders)}

    def run(self, code: str) -> str:
        """What `code` prints in the venv; fails with it."""
        argv = [str(self.venv / "bin" / "python"), "-I", "-c", code]
        return subprocess.run(
            argv, capture_output=True, text=True, encoding="utf-8", check=True
        ).stdout.strip()


def make_workspace(folder: Path, *options: str) -> Workspace:
    """A venv; release 0.6.35 installs into one only where it finds this module of verifiers."""
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", *options, str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    command = packages / "verifiers" / "cli" / "commands" / "eval.py"
    command.parent.mkdir(parents=True)
    command.touch()
    return Workspace(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path / "workspace")


def publish_versions(user: User, **options: str) -> str:
    """Two versions of a package whose name no other index has; its slug."""
    name = f"tiny-{user.slug}-of-the-journey"
    for version in ("0.1.0", "0.2.0"):
        files = {f"{name.replace('-', '_')}.py": CODE.format(version)}
        ref = user.publish(name, version=version, files=files, **options)
    return ref.slug


def loaded(workspace: Workspace, slug: str) -> str:
    module = slug.split("/")[1].replace("-", "_")
    return workspace.run(f"import {module}; print({module}.load_environment())")


def test_newest_version_is_installed_by_uv(user: User, workspace: Workspace) -> None:
    slug = publish_versions(user)
    user.prime("env", "install", slug, variables=workspace.active).ok()
    assert loaded(workspace, slug) == "0.2.0"


def test_pinned_version_is_installed_by_uv(user: User, workspace: Workspace) -> None:
    slug = publish_versions(user)
    user.prime("env", "install", f"{slug}@0.1.0", variables=workspace.active).ok()
    assert loaded(workspace, slug) == "0.1.0"


def test_public_environment_is_installed_without_a_key(user: User, workspace: Workspace) -> None:
    slug = publish_versions(user)
    user.prime("env", "install", slug, variables={**workspace.active, **WITHOUT_KEY}).ok()
    assert loaded(workspace, slug) == "0.2.0"


def test_newest_and_then_a_pinned_version_are_installed_by_pip(user: User, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "workspace", "--seed")
    slug = publish_versions(user)
    for version, shown in (("", "0.2.0"), ("@0.1.0", "0.1.0")):
        user.prime(
            "env", "install", slug + version, "--with", "pip", variables=workspace.active
        ).ok()
        assert loaded(workspace, slug) == shown


@newer_releases
def test_private_environment_is_built_from_its_sources(user: User, workspace: Workspace) -> None:
    slug = publish_versions(user, visibility="PRIVATE", declared=BACKEND.format(user.slug))
    for version, shown in (("@0.1.0", "0.1.0"), ("", "0.2.0")):
        user.prime("env", "install", slug + version, variables=workspace.active).ok()
        assert loaded(workspace, slug) == shown


BACKEND = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build]
include = ["*.py"]
"""


def test_pulled_sources_are_those_that_were_published(user: User) -> None:
    ref = user.publish(files={"tiny_env.py": CODE.format("0.1.0")}, visibility="PRIVATE")
    folder = user.folder("work")
    user.prime("env", "pull", ref.slug, "--target", "pulled", cwd=folder).ok()
    assert (folder / "pulled" / "tiny_env.py").read_text() == CODE.format("0.1.0")
    assert (folder / "pulled" / "pyproject.toml").exists()
    user.prime("env", "pull", f"{ref.slug}@0.1.0", cwd=folder).ok()
    assert len(list(folder.glob("*/pyproject.toml"))) == 2


def test_pulled_environment_is_changed_and_pushed_again(user: User) -> None:
    ref = user.publish(declared=BACKEND)
    folder = user.folder("work")
    user.prime("env", "pull", ref.slug, "--target", "pulled", cwd=folder).ok()
    said = user.prime("env", "push", "--auto-bump", cwd=folder / "pulled").ok().out
    assert f"Successfully pushed {ref.slug}" in said
    assert user.hub.environments.get(ref.at(None)).semantic_version == "0.1.1"
