from pathlib import Path

import pytest

from prime_cli.core.errors import BadReference, NotFound
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.locking.file import FILENAME, LockedEnvironment, make_lock, write_lock
from prime_cli.evals.locate import Places, locate
from tests.helpers.wild import write_project


def no_hub() -> None:
    raise AssertionError("the hub was asked")


def places(cwd: Path) -> Places:
    return Places(cwd, hub=no_hub)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["./my-env", "my-env/", "../x", "a/b/c", "dist/x-1-py3-none-any.whl"]
)
def test_what_can_only_be_a_path_never_asks_the_hub(text: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no "):
        locate(text, places(tmp_path), Silent())


def test_the_choice_of_a_folder_for_a_name_is_said(tmp_path: Path) -> None:
    write_project(tmp_path / "environments" / "my_env")
    progress = Silent()
    locate("my-env", places(tmp_path), progress)
    assert progress.said == ["`my-env` is the project in ./environments/my_env"]


def test_a_reference_goes_to_the_hub_as_it_is(tmp_path: Path) -> None:
    found = locate("ada/wordle@1.2", Places(tmp_path, hub=lambda: None), Silent())  # type: ignore[arg-type,return-value]
    assert found == EnvRef("ada", "wordle", "1.2")


def test_hub_only_does_not_look_at_folders(tmp_path: Path) -> None:
    write_project(tmp_path / "ada" / "wordle")
    hub = Places(tmp_path, hub=lambda: None)  # type: ignore[arg-type,return-value]
    assert isinstance(locate("ada/wordle", hub, Silent()), Path)
    assert isinstance(locate("ada/wordle", hub, Silent(), hub_only=True), EnvRef)


def test_what_is_no_reference_and_no_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadReference):
        locate("ada/bad name", Places(tmp_path, hub=lambda: None), Silent(), hub_only=True)  # type: ignore[arg-type,return-value]


@pytest.fixture
def locked(tmp_path: Path) -> EnvRef:
    """What a prime.lock in the folder holds."""
    ref = EnvRef("ada", "wordle", "1.2", "ab" * 32)
    entry = LockedEnvironment(
        ref=str(ref), wheel="wordle-1.2-py3-none-any.whl", sha256="ab" * 32, asked="ada/wordle"
    )
    write_lock(tmp_path / FILENAME, make_lock([entry]))
    return ref


@pytest.mark.parametrize("text", ["wordle", "ada/wordle"])
def test_a_name_without_a_version_is_the_locked_one_and_that_is_said(
    text: str, locked: EnvRef, tmp_path: Path
) -> None:
    progress = Silent()
    assert locate(text, places(tmp_path), progress) == locked
    (said,) = progress.said
    assert said.startswith(f"`{text}` is ada/wordle@1.2, as prime.lock says")


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize(("text", "version"), [("@1.1", "1.1"), ("@latest", None)])
def test_a_version_that_is_named_goes_before_the_lock(
    text: str, version: str | None, tmp_path: Path
) -> None:
    hub = Places(tmp_path, hub=lambda: None)  # type: ignore[arg-type,return-value]
    assert locate(f"ada/wordle{text}", hub, Silent()) == EnvRef("ada", "wordle", version)


def test_a_project_goes_before_the_lock(locked: EnvRef, tmp_path: Path) -> None:
    write_project(tmp_path / "environments" / locked.name)
    assert isinstance(locate("wordle", places(tmp_path), Silent()), Path)


@pytest.mark.usefixtures("locked")
def test_a_run_that_goes_on_is_not_moved_by_the_lock(tmp_path: Path) -> None:
    hub = Places(tmp_path, hub=lambda: None)  # type: ignore[arg-type,return-value]
    found = locate("ada/wordle", hub, Silent(), obey_lock=False)
    assert found == EnvRef("ada", "wordle")
