"""What a wheel contains beside the package, built from what is in git."""

import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from prime_cli.commands.tree import manuals

ROOT = Path(__file__).parent.parent


_IMPORTED = """
import sys
before = set(sys.modules)
from prime_cli.commands.tree import manuals
manuals()
loaded = {name for name in sys.modules if getattr(sys.modules[name], "__file__", None)}
print(*{name.partition(".")[0] for name in loaded - before})
"""


def test_the_build_installs_what_the_commands_import() -> None:
    """Every command pays for these imports, and a build must have them to render manual pages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    known = _with_dependencies({Requirement(line).name for line in hook["dependencies"]})
    run = [sys.executable, "-c", _IMPORTED]
    modules = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    owners = metadata.packages_distributions()
    # aiohttp looks in the namespace `backports` for a zstd that need not be there.
    used = {owners[name][0] for name in owners.keys() & set(modules.stdout.split()) - {"backports"}}
    assert used - known - {"prime-cli"} == set()


def _with_dependencies(names: set[str]) -> set[str]:
    found: set[str] = set()
    while names:
        name = names.pop()
        found.add(metadata.distribution(name).name)
        needs = [Requirement(line) for line in metadata.requires(name) or []]
        names |= {
            need.name
            for need in needs
            if (need.marker is None or need.marker.evaluate({"extra": ""}))
            and metadata.distribution(need.name).name not in found
        }
    return found


@pytest.mark.slow
def test_a_wheel_built_from_git_has_licence_manual_pages_and_completions(tmp_path: Path) -> None:
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", "--depth=1", ROOT.as_uri(), source], check=True)
    build = [sys.executable, "-m", "uv", "build", "-q", "-o", str(tmp_path / "dist"), str(source)]
    subprocess.run(build, check=True)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        pages = {
            Path(name).name: archive.read(name).decode("ascii")
            for name in names
            if "/share/man/man1/" in name
        }
    assert pages == {Path(name).name: text for name, text in manuals().items()}
    ends = (".dist-info/licenses/LICENSE", "/share/zsh/site-functions/_prime")
    assert all(any(name.endswith(end) for name in names) for end in ends)
