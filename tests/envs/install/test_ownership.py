"""Which packages of a workspace are prime's to move, and which need a yes."""

from pathlib import Path

import pytest

from prime_cli.envs.install.installed import InstalledPackage, read_distributions
from prime_cli.envs.install.installers import (
    PackageChange,
    brought_by_prime,
    foreign_changes,
    note_brought,
)
from prime_cli.envs.install.workspace import Workspace

PRIME = """Provides-Extra: verifiers
Provides-Extra: dev
Requires-Dist: rich>=13
Requires-Dist: verifiers>=0.3.1; extra == 'verifiers'
Requires-Dist: prime-cli[verifiers]; extra == 'dev'
Requires-Dist: pytest; extra == 'dev'
"""


def put(site: Path, name: str, version: str, more: str = "") -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
    (folder / "METADATA").write_text(text, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The packages of a workspace: prime, what it always needs, and verifiers."""
    put(tmp_path, "prime-cli", "0.1.0", PRIME)
    put(tmp_path, "rich", "14.0")
    put(tmp_path, "verifiers", "0.4.0", "Requires-Dist: numpy\n")
    put(tmp_path, "numpy", "2.1")
    return tmp_path


def workspace_in(folder: Path) -> Workspace:
    return Workspace(folder / "bin" / "python", folder, "test")


def brought(site: Path, python: str = "3.11.7") -> frozenset[str]:
    return brought_by_prime(read_distributions(site), workspace_in(site), python)


def test_verifiers_is_primes_where_the_extra_that_brings_it_is_complete(site: Path) -> None:
    assert brought(site) == {"rich"}
    put(site, "pytest", "8.4")
    assert brought(site) == {"rich", "pytest", "verifiers", "numpy"}


def test_without_prime_everything_is_another_users(tmp_path: Path) -> None:
    put(tmp_path, "verifiers", "0.4.0")
    assert brought(tmp_path) == frozenset()


def test_a_note_holds_for_the_version_that_was_noted(tmp_path: Path) -> None:
    put(tmp_path, "numpy", "2.1")
    nothing: dict[str, InstalledPackage] = {}
    note_brought(workspace_in(tmp_path), nothing, read_distributions(tmp_path))
    assert brought(tmp_path) == {"numpy"}
    (tmp_path / "numpy-2.1.dist-info").rename(tmp_path / "numpy-2.0.dist-info")
    assert brought(tmp_path) == frozenset()


def test_a_move_that_another_package_would_not_survive_needs_a_yes(site: Path) -> None:
    installed = read_distributions(site)
    moves = [PackageChange("rich", "14.0", after) for after in ("13.9", "12.0")]
    asked = [
        foreign_changes([move], installed, (), workspace_in(site), "3.11.7") != () for move in moves
    ]
    assert asked == [False, True]


def test_markers_are_those_of_the_workspaces_python(tmp_path: Path) -> None:
    put(tmp_path, "prime-cli", "0.1.0", "Requires-Dist: numpy; python_version < '3.9'\n")
    put(tmp_path, "pandas", "2.0", "Requires-Dist: numpy<2; python_version < '3.9'\n")
    put(tmp_path, "numpy", "1.9")
    assert [brought(tmp_path, python) for python in ("3.8.1", "3.11.7")] == [{"numpy"}, set()]
    (tmp_path / "prime-packages.json").write_text('{"numpy": "1.9"}')
    installed, move = read_distributions(tmp_path), PackageChange("numpy", "1.9", "2.1")
    asked = [
        foreign_changes([move], installed, (), workspace_in(tmp_path), python) != ()
        for python in ("3.8.1", "3.11.7")
    ]
    assert asked == [True, False]


def test_what_was_named_and_what_is_new_need_none(site: Path) -> None:
    changes = [PackageChange("numpy", "2.1", "2.2"), PackageChange("scipy", None, "1.15")]
    found = foreign_changes(
        changes, read_distributions(site), {"numpy"}, workspace_in(site), "3.11"
    )
    assert found == ()
