"""The tests that a project brings, and what they are run with."""

from pathlib import Path

import pytest

from prime_cli.core.errors import BadProject
from prime_cli.core.progress import Silent
from prime_cli.envs.project.folder import load_project
from prime_cli.evals.env_check.own_tests import dev_requirements, own_sources
from tests.helpers.cli import Prime, prime_process
from tests.helpers.wild import Shape, write_project, write_wheel

V0 = "import os\nimport verifiers as vf\nTOKEN = os.environ.get('A_TOKEN')\n\n\n"
V0 += "def load_environment():\n    return vf.SingleTurnEnv()\n"
GROUPS = """
[dependency-groups]
dev = ["pytest>=8", {include-group = "lint"}]
lint = ["ruff"]
[project.optional-dependencies]
dev = ["pytest<8"]
"""
EXTRAS = """
[project.optional-dependencies]
dev = ["tiny-env[test]", "ruff"]
test = ["PyTest"]
nlp = ["spacy"]
"""
PYTEST = """
import os, sys, tiny_env
print(sys.argv[1:], os.getcwd(), os.path.dirname(tiny_env.__file__), tiny_env.TOKEN)
sys.exit(3)
"""


def requirements(tmp_path: Path, more: str) -> tuple[tuple[str, ...], list[str]]:
    """What is installed for a project with `more` in its pyproject.toml, and what is said."""
    progress = Silent()
    project = load_project(write_project(tmp_path, Shape(tables=more)))
    return dev_requirements(project, progress), progress.said


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (GROUPS, ("pytest>=8", "ruff")),
        (EXTRAS, ("PyTest", "ruff")),
    ],
    ids=["groups", "extras"],
)
def test_groups_come_before_extras_and_either_may_include_others(
    more: str, found: tuple[str, ...], tmp_path: Path
) -> None:
    assert requirements(tmp_path, more) == (found, [])


def test_pytest_is_added_if_missing_with_a_message(tmp_path: Path) -> None:
    found, said = requirements(tmp_path, '[dependency-groups]\ndev = ["pytest-asyncio"]\n')
    assert found == ("pytest-asyncio", "pytest")
    assert said == ["pytest is added: no `dev` or `test` group or extra of tiny-env names it"]


@pytest.mark.parametrize("group", ['"nonsense !"', '{include-group = "dev"}', "3"])
def test_groups_that_cannot_be_read_are_refused(group: str, tmp_path: Path) -> None:
    with pytest.raises(BadProject, match=r"\[dependency-groups\]"):
        requirements(tmp_path, f"[dependency-groups]\ndev = [{group}]\n")


def test_only_files_inside_the_project_are_read(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "here", Shape(body=V0))
    (tmp_path / "other.py").write_text("OTHER", encoding="utf-8")
    (folder / "tests" / "templates.py").mkdir(parents=True)
    (folder / "tests" / "test_a.py").write_text("A_TEST", encoding="utf-8")
    (folder / "tests" / "linked.py").symlink_to(tmp_path / "other.py")
    (folder / "tests" / "broken.py").symlink_to(tmp_path / "gone.py")
    found = "".join(own_sources(load_project(folder)))
    assert "A_TOKEN" in found
    assert "A_TEST" in found
    assert "OTHER" not in found


@pytest.mark.slow
def test_pytest_runs_in_the_project_and_its_code_is_ours(tmp_path: Path, wheelhouse: Path) -> None:
    files = {"pytest/__init__.py": "", "pytest/__main__.py": PYTEST}
    write_wheel(wheelhouse, files, name="pytest", version="99.0", requires=())
    folder = write_project(tmp_path / "here", Shape(body=V0))
    words = ("env", "test", "--", "-k", "some thing")
    result = prime_process(*words, cwd=folder, env={"A_TOKEN": "tk-1234567890abcdef"})
    assert result.code == 3, result.err
    assert result.out == f"['-k', 'some thing'] {folder} {folder} None\n"
    assert "pytest is added" in result.err
    assert "The tests do not get A_TOKEN" in result.err
    again = prime_process("env", "test", str(folder), "--env-var", "A_TOKEN=1", cwd=tmp_path)
    assert again.out == f"[] {folder} {folder} 1\n"


def test_one_environment_is_tested(prime: Prime, tmp_path: Path) -> None:
    result = prime("env", "test", "one", "two", "--", "three", cwd=tmp_path)
    assert result.code == 2
    assert "not also `two`" in result.err
    assert prime("env", "test", "one", "--", "two", cwd=tmp_path).code == 6
