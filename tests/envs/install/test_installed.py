"""What a workspace has is read from its files."""

import json
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from prime_cli.envs.install.installed import (
    Origin,
    altered_files,
    list_installed,
    read_distributions,
    record_origin,
    recorded_files,
    unmet_requirements,
    wanted_requirements,
)


def put(site: Path, name: str, version: str, *requires: str, source: str = "") -> Path:
    """Files as an installer leaves them."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (info / "RECORD").write_text(f"{name}.py,,\n{info.name}/METADATA,,\n", encoding="utf-8")
    (site / f"{name}.py").write_text(source, encoding="utf-8")
    return info


def unmet(site: Path, *requirements: str, python: str = "3.11.7") -> list[str]:
    parsed = [Requirement(text) for text in requirements]
    return [str(r) for r in unmet_requirements(parsed, read_distributions(site), python)]


def test_names_are_compared_as_indexes_do(tmp_path: Path) -> None:
    put(tmp_path, "Some_Package", "1.0")

    assert unmet(tmp_path, "some-package>=1", "SOME.package==1.0") == []


@pytest.mark.parametrize("requirement", ["absent", "numpy>=2.1", "numpy @ https://e.org/n.whl"])
def test_what_is_absent_too_old_or_by_url_is_unmet(tmp_path: Path, requirement: str) -> None:
    put(tmp_path, "numpy", "2.0")

    assert unmet(tmp_path, requirement) == [str(Requirement(requirement))]


def test_a_prerelease_that_is_there_meets_a_plain_requirement(tmp_path: Path) -> None:
    put(tmp_path, "verifiers", "0.4.1.dev86")

    assert unmet(tmp_path, "verifiers>=0.1.3") == []


def test_markers_are_those_of_the_workspaces_python(tmp_path: Path) -> None:
    requirement = "tomli; python_version < '3.11'"

    assert unmet(tmp_path, requirement, python="3.10.13") == [str(Requirement(requirement))]
    assert unmet(tmp_path, requirement, python="3.11.7") == []


def test_markers_of_an_extra_are_those_of_that_python_too() -> None:
    texts = ["tomli; extra == 'toml' and python_version < '3.11'"]

    assert [str(r) for r in wanted_requirements(texts, ["toml"], "3.10.13")][1:] == ["tomli"]
    assert wanted_requirements(texts, ["toml"], "3.11.7")[1:] == []


def test_extras_ask_for_more(tmp_path: Path) -> None:
    put(tmp_path, "verifiers", "0.1.14", "textarena; extra == 'ta'", "absent; extra == 'rl'")

    assert unmet(tmp_path, "verifiers") == []
    assert unmet(tmp_path, "verifiers[ta]") == [str(Requirement("textarena; extra == 'ta'"))]

    put(tmp_path, "textarena", "0.7")
    assert unmet(tmp_path, "verifiers[ta]") == []


def test_metadata_that_is_not_utf8_requires_nothing(tmp_path: Path) -> None:
    info = put(tmp_path, "old", "1.0", "absent")
    (info / "METADATA").write_bytes(b"Name: old\nAuthor: Jos\xe9\nRequires-Dist: absent\n")
    package = read_distributions(tmp_path)["old"]

    assert (package.display_name, package.version, package.requires) == ("old", "1.0", [])


def test_a_record_names_the_files_below_site_packages_with_their_digests(tmp_path: Path) -> None:
    info = put(tmp_path, "tool", "1.0", source="X = 1")
    digest = "AFQye23YTmkEn8jb4FtI52mCnc_3mIqTi4aWUJRyQgE"
    lines = [f"tool.py,sha256={digest},5", "../../bin/tool,sha256=00,9", "gone.py,sha256=00=,1"]
    (info / "RECORD").write_text("\n".join(lines), encoding="utf-8")
    package = read_distributions(tmp_path)["tool"]

    assert recorded_files(package) == (("tool.py", digest), ("gone.py", "00="))
    assert list(altered_files(package)) == ["gone.py"]
    (tmp_path / "tool.py").write_text("X = 2")
    assert list(altered_files(package)) == ["tool.py", "gone.py"]
    (info / "RECORD").unlink()
    assert recorded_files(package) is None
    assert list(altered_files(package)) == [f"{info.name}/RECORD"]


def test_only_environments_are_listed(tmp_path: Path) -> None:
    put(tmp_path, "numpy", "2.0", source="def load_environment(): ...")
    put(tmp_path, "my_env", "0.1", "verifiers", source="def load_environment(): ...")
    put(tmp_path, "helper", "0.1", "verifiers", source="X = 1")

    (found,) = list_installed(tmp_path)

    assert (found.name, found.version, found.module, found.generation) == (
        "my_env", "0.1", "my_env", "v0",
    )  # fmt: skip


def test_an_origin_is_recorded_as_a_file_of_the_package(tmp_path: Path) -> None:
    info = put(tmp_path, "my_env", "0.1", source="def load_environment(): ...")
    cached = tmp_path / "cached-record"
    cached.hardlink_to(info / "RECORD")
    origin = Origin(ref="ada/my-env@0.1", sha256="a" * 64)

    for _ in range(2):
        record_origin(read_distributions(tmp_path)["my-env"], origin)

    (found,) = list_installed(tmp_path)
    assert found.origin == origin
    assert (info / "RECORD").read_text().count("prime.json") == 1
    assert "prime.json" not in cached.read_text()


def put_editable(site: Path, project: Path) -> None:
    """What uv and pip leave of a project that is installed editable: no module of its own."""
    info = put(site, "my_env", "0.1", "verifiers")
    (site / "my_env.py").unlink()
    noted = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(noted), encoding="utf-8")


@pytest.mark.parametrize("folder", [".", "src"])
def test_an_editable_environment_is_read_from_its_project(tmp_path: Path, folder: str) -> None:
    site, project = tmp_path / "site", tmp_path / "my project"
    put_editable(site, project)
    assert list_installed(site) == []

    (project / folder).mkdir(parents=True)
    pyproject = '[project]\nname = "my-env"\nversion = "0.1"\n'
    (project / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    source = "def load_environment(): ..."
    (project / folder / "other_name.py").write_text(source, encoding="utf-8")

    (found,) = list_installed(site)
    assert (found.name, found.module, found.generation) == ("my_env", "other_name", "v0")
    assert found.origin == Origin(path=str(project))


def test_a_missing_workspace_has_nothing() -> None:
    assert list_installed(None) == []
