"""The help of every command where only what `hatch_build.py` is given is installed."""

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

_CODE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from prime_cli.commands.tree import read_tree
print(len(list(read_tree().walk())))
"""
_MODULES = {"prometheus-client": "prometheus_client", "markdown-it-py": "markdown_it"}


def test_every_command_has_its_help_where_a_wheel_is_built() -> None:
    file = Path(__file__).parents[2] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    there = {Requirement(each).name for each in hook["dependencies"]}
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *extras["hub"], *extras["tui"]]
    missing = {Requirement(each).name for each in wanted} - there
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *(_MODULES.get(name, name) for name in missing)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
