import os
import shutil
import tempfile
from pathlib import Path

import pytest

from prime_cli.core.archive.wheel_comparison import check_record
from prime_cli.core.archive.wheels import WheelFacts, read_wheel
from prime_cli.core.errors import BuildFailed, UsageError
from prime_cli.core.progress import Silent
from prime_cli.envs.project.build import build_checked, build_wheel, hatchling_fits
from prime_cli.envs.project.folder import load_project
from tests.helpers.wild import BACKENDS, SINGLE_TURN, WILD, Shape, write_project

IN_PROCESS = {
    name: shape
    for name, shape in WILD.items()
    if shape.backend == "hatchling" and name not in ("files-left-out", "not-an-environment")
}


def build(folder: Path, progress: Silent | None = None) -> tuple[Path, WheelFacts]:
    return build_checked(
        load_project(folder), folder / "dist", progress or Silent(), check=False, offline=True
    )


@pytest.mark.sample(6, "shape")
@pytest.mark.parametrize("shape", IN_PROCESS.values(), ids=IN_PROCESS)
def test_every_shape_of_the_wild_builds_offline(shape: Shape, tmp_path: Path) -> None:
    wheel, facts = build(write_project(tmp_path, shape))
    check_record(wheel)
    assert facts.module == shape.module
    assert facts.exposes == ("v1" if shape is WILD["v1"] else "v0")
    assert facts.version == (shape.version or "0.3.0")


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first = write_project(tmp_path / "one", WILD["data-files"])
    second = tmp_path / "two"
    shutil.copytree(first, second)
    for path in second.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    one, _ = build(first)
    two, _ = build(second)
    again, _ = build(first)
    assert one.read_bytes() == two.read_bytes() == again.read_bytes()


def test_the_users_time_is_stamped_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_project(tmp_path)
    before = build(folder)[0].read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert build(folder)[0].read_bytes() != before
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH"):
        build(folder)


def test_building_in_process_leaves_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (Path.cwd(), dict(os.environ))
    folder = write_project(tmp_path, WILD["data-files"])
    wheel, _ = build(folder)
    assert (Path.cwd(), dict(os.environ)) == before
    assert capsys.readouterr() == ("", "")
    assert list((folder / "dist").iterdir()) == [wheel]
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "dist",
        "pyproject.toml",
        "tiny_env",
    ]


def test_other_wheels_in_the_folder_stay(tmp_path: Path) -> None:
    folder = write_project(tmp_path)
    (folder / "dist").mkdir()
    (folder / "dist" / "other-1-py3-none-any.whl").write_bytes(b"mine")
    build(folder)
    assert (folder / "dist" / "other-1-py3-none-any.whl").read_bytes() == b"mine"


HOOKED = {
    "a hook": Shape(tables="[tool.hatch.build.hooks.custom]"),
    "a hook of the target": Shape(tables="hooks.custom.path = 'x.py'"),
    "a metadata hook": Shape(tables="[tool.hatch.metadata.hooks.custom]"),
    "a version that code computes": Shape(tables="[tool.hatch.version]\nsource = 'code'"),
    "a file of its own": Shape(files={"hatch.toml": ""}),
    "another backend": Shape(backend="flit"),
    "no backend": Shape(backend=None),
}


@pytest.mark.sample(6, "shape")
@pytest.mark.parametrize("shape", HOOKED.values(), ids=HOOKED)
def test_code_of_a_project_never_runs_in_this_process(shape: Shape, tmp_path: Path) -> None:
    assert not hatchling_fits(load_project(write_project(tmp_path, shape)))


@pytest.mark.parametrize(
    ("requires", "fits"),
    [
        ('"hatchling"', True),
        ('"hatchling>=1.26"', True),
        ('"hatchling<1"', False),
        ('"hatchling", "hatch-vcs"', False),
        ('"hatchling @ https://files.invalid/h.whl"', False),
        ('"not a requirement ="', False),
    ],
)
def test_the_hatchling_at_hand_must_be_the_one_requested(
    requires: str, fits: bool, tmp_path: Path
) -> None:
    folder = write_project(tmp_path)
    file = folder / "pyproject.toml"
    file.write_text(
        file.read_text().replace('requires = ["hatchling"]', f"requires = [{requires}]")
    )
    assert hatchling_fits(load_project(folder)) is fits


def test_a_backend_that_fails_is_quoted(tmp_path: Path) -> None:
    folder = write_project(tmp_path, Shape(project='readme = "MISSING.md"', readme=False))
    with pytest.raises(BuildFailed, match="build of `tiny-env` failed") as caught:
        build(folder)
    assert "MISSING.md" in (caught.value.detail or "")
    assert caught.value.exit_code == 9
    assert list((folder / "dist").iterdir()) == []


def test_a_build_that_fails_leaves_nothing_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "no-files"\nversion = "1.0"\n',
        encoding="utf-8",
    )
    with pytest.raises(BuildFailed, match="no-files"):
        build(tmp_path)
    assert list(temporary.iterdir()) == []


def test_a_package_that_is_not_an_environment_is_refused_with_what_to_define(
    tmp_path: Path,
) -> None:
    folder = write_project(tmp_path, WILD["not-an-environment"])
    with pytest.raises(BuildFailed, match="exposes no environment") as caught:
        build(folder)
    assert "load_environment" in (caught.value.hint or "")


@pytest.mark.parametrize("check", [True, False])
def test_a_module_left_out_of_the_wheel_is_named_with_the_line_that_brings_it(
    tmp_path: Path, *, check: bool
) -> None:
    project = load_project(write_project(tmp_path, WILD["files-left-out"]))
    with pytest.raises(BuildFailed, match=r"`tiny_env/parts\.py` is not in the wheel") as raised:
        build_checked(project, tmp_path / "dist", Silent(), check=check, offline=True)
    assert "tiny_env/__init__.py:1 imports it" in raised.value.message
    hint = raised.value.hint or ""
    assert hint.startswith("take `tiny_env/parts.py` out of `exclude` in pyproject.toml:")


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["module", "package", "src"])
@pytest.mark.sample(1, "backend")
@pytest.mark.parametrize("backend", [*BACKENDS, None], ids=str)
def test_every_backend_builds_every_layout_to_the_same_bytes(
    backend: str | None, layout: str, tmp_path: Path
) -> None:
    if (backend, layout) == ("uv_build", "module"):
        pytest.skip("uv_build builds packages only")
    shape = Shape(
        backend=backend,
        layout=layout,
        body=SINGLE_TURN,
        files={"tests/test_it.py": "def test_it(): ...\n"} if backend == "hatchling" else {},
    )
    wheels = []
    for name in ("one", "two"):
        folder = write_project(tmp_path / name, shape)
        project = load_project(folder)
        wheels += [build_wheel(project, tmp_path / f"{name}{n}", Silent()) for n in (1, 2)]
        left = {path.name for path in folder.iterdir()}
        assert "build" not in left
    check_record(wheels[0])
    facts = read_wheel(wheels[0])
    assert (facts.module, facts.exposes, facts.version) == ("tiny_env", "v0", "0.1.0")
    assert len({wheel.read_bytes() for wheel in wheels}) == 1


@pytest.mark.slow
def test_stale_files_of_an_earlier_setuptools_build_stay_out(tmp_path: Path) -> None:
    shape = Shape(backend="setuptools", layout="package", files={"tiny_env/old.py": ""})
    folder = write_project(tmp_path, shape)
    build_wheel(load_project(folder), folder / "dist", Silent())
    (folder / "tiny_env" / "old.py").unlink()
    wheel = build_wheel(load_project(folder), folder / "dist", Silent())
    assert "tiny_env/old.py" not in read_wheel(wheel).members


@pytest.mark.slow
def test_a_backend_that_cannot_be_installed_is_reported(tmp_path: Path) -> None:
    folder = write_project(tmp_path, Shape(backend="flit"))
    file = folder / "pyproject.toml"
    file.write_text(file.read_text().replace("flit_core>=3.11", "flit_core>=999"))
    with pytest.raises(BuildFailed, match="requirements cannot be installed"):
        build_wheel(load_project(folder), tmp_path / "dist", Silent())


@pytest.mark.slow
def test_an_isolated_backend_that_fails_is_quoted(tmp_path: Path) -> None:
    shape = Shape(backend="setuptools", files={"setup.py": "raise SystemExit('no way')\n"})
    with pytest.raises(BuildFailed) as caught:
        build_wheel(load_project(write_project(tmp_path, shape)), tmp_path / "dist", Silent())
    assert "no way" in (caught.value.detail or "")
    assert len((caught.value.detail or "").splitlines()) <= 15
