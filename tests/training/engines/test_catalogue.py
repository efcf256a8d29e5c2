from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.training.engines.catalogue import check_fit, find_engine, lasting_name
from tests.helpers.plugins import write_plugin

GOOD = 'name = "mine"\nrequires = ["mine==1"]\nentry = "go.py"\n'


def _folder(path: Path, text: str = GOOD) -> Path:
    (path / "engine.toml").write_text(text, encoding="utf-8")
    (path / "go.py").touch()
    return path


def test_the_engine_that_is_built_in_is_complete() -> None:
    engine = find_engine("trl")
    assert engine.entry.is_file()
    assert engine.takes == ("v0", "v1")
    assert any(each.startswith("trl") for each in engine.packages)


def test_a_folder_with_engine_toml_is_an_engine(tmp_path: Path) -> None:
    engine = find_engine(str(_folder(tmp_path)))
    assert (engine.name, engine.title) == ("mine", "mine")
    assert engine.entry == tmp_path / "go.py"


def test_an_unknown_engine_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no engine `nothing`"):
        find_engine("nothing")
    with pytest.raises(NotFound, match=r"no engine\.toml"):
        find_engine(str(tmp_path))


@pytest.mark.parametrize(
    "text", [GOOD + "speed = 1\n", GOOD.replace("go.py", "gone.py"), "name = \n", 'name = "x"\n']
)
def test_an_invalid_engine_toml_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"engine\.toml"):
        find_engine(str(_folder(tmp_path, text)))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages that name the engine `mine`, whose code must not be run, and one that is gone."""
    folder = tmp_path / "site" / "third_party_engine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('was imported')\n", encoding="utf-8")
    _folder(folder, GOOD + 'needs = ["gpu"]\ntakes = ["v1"]\n')
    write_plugin(folder.parent, "prime.engines", mine="third_party_engine")
    write_plugin(folder.parent, "prime.engines", gone="a_package_that_is_gone")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder.parent


@pytest.mark.usefixtures("site")
def test_an_installed_package_brings_an_engine() -> None:
    engine = find_engine("mine")
    assert engine.entry.name == "go.py"
    assert engine.needs == ("gpu",)
    with pytest.raises(NotFound) as unknown:
        find_engine("other")
    assert unknown.value.hint == "`trl`, `prime-rl`, `gone`, `mine`, or an engine's folder"


@pytest.mark.usefixtures("site")
def test_an_entry_point_without_its_package_is_refused() -> None:
    with pytest.raises(UsageError, match="not an installed package"):
        find_engine("gone")


@pytest.mark.usefixtures("site")
def test_an_engine_is_refused_for_what_it_cannot_train() -> None:
    engine = find_engine("mine")
    check_fit(engine, "v1", has_gpu=True)
    with pytest.raises(UsageError, match="does not train v0") as old:
        check_fit(engine, "v0", has_gpu=True)
    assert old.value.hint == "`--engine trl` trains v0 and v1"
    with pytest.raises(UsageError, match="needs a GPU"):
        check_fit(engine, "v1", has_gpu=False)


@pytest.mark.parametrize("name", ["torchforge", "nemo-rl", "NeMo_RL"])
def test_placeholders_are_refused_as_what_they_are(name: str) -> None:
    with pytest.raises(UsageError, match="empty placeholder on PyPI"):
        find_engine(name)


@pytest.mark.parametrize("name", ["verl", "rllm", "tinker", "art", "skyrl"])
def test_trainers_with_programs_of_their_own_are_sent_to_the_service(name: str) -> None:
    with pytest.raises(UsageError, match="started by its own program") as refused:
        find_engine(name)
    assert "prime rollouts serve" in (refused.value.hint or "")


def test_a_folder_is_found_again_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    name = lasting_name(".")
    monkeypatch.chdir("/")
    assert find_engine(name).name == "mine"
    assert lasting_name("trl") == "trl"
