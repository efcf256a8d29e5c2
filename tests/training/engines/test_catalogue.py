from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.training.engines.catalogue import find_engine

GOOD = 'name = "mine"\nrequires = ["mine==1"]\nentry = "go.py"\n'


def _folder(path: Path, text: str = GOOD) -> Path:
    (path / "engine.toml").write_text(text, encoding="utf-8")
    (path / "go.py").touch()
    return path


def test_the_engine_that_is_built_in_is_complete() -> None:
    engine = find_engine("trl")
    assert engine.entry.is_file()
    assert engine.takes == ("v0", "v1")
    assert any(each.startswith("trl") for each in engine.requires)


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
