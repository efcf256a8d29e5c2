"""What was typed is a path, a bundle or an environment of a hub."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Silent
from prime_cli.envs.bundles.platforms import this_platform
from prime_cli.envs.bundles.unpacked import UnpackedEnvironment, list_unpacked
from prime_cli.envs.install.sources import (
    InstallOptions,
    InstallSources,
    check_bundle,
    is_bundle,
    open_sources,
)
from prime_cli.envs.install.workspace import Workspace
from tests.envs.bundles.forging import bundle_of, environment_of, listed, zip_of
from tests.helpers.wild import write_project

REF = "ada/tiny-env@0.1.0"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
PINNED = InstallOptions(sha256="0" * 64)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle of `REF` for this machine."""
    members = environment_of(tmp_path, REF)
    targets = [{"platform": this_platform(), "python": PYTHON}]
    return bundle_of(
        tmp_path / "x.bundle", members, environments=[listed(members, REF)], targets=targets
    )


def opened(
    *words: str, here: Path, options: InstallOptions | None = None, show_only: bool = False
) -> InstallSources:
    workspace = Workspace(Path(sys.executable), None, "test")
    return open_sources(
        words,
        workspace,
        options or InstallOptions(),
        here=here,
        progress=Silent(),
        show_only=show_only,
    )


def test_a_bundle_is_unpacked_and_installed_offline(bundle: Path, tmp_path: Path) -> None:
    sources = opened(bundle.name, here=tmp_path)
    (found,) = sources.named
    assert isinstance(found, UnpackedEnvironment)
    assert str(found.ref) == REF
    assert sources.options.offline
    assert sources.options.bundled_only


def test_a_bundle_can_be_shown_without_unpacking_it(bundle: Path, tmp_path: Path) -> None:
    sources = opened(bundle.name, here=tmp_path, show_only=True)
    assert sources.bundle is not None
    assert not sources.named
    assert [each.ref for each in sources.bundle.manifest.environments] == [REF]
    assert list(list_unpacked(prime_home())) == []


def test_a_bundle_is_installed_alone(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="separately"):
        opened(bundle.name, "ada/other", here=tmp_path)


def test_a_bundle_with_another_sha256_is_not_unpacked(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="is required"):
        opened(bundle.name, here=tmp_path, options=PINNED)
    assert list(list_unpacked(prime_home())) == []


def test_a_sha256_pins_one_environment_of_a_hub(tmp_path: Path) -> None:
    assert opened("ada/x", here=tmp_path, options=PINNED).named == [f"ada/x#sha256={'0' * 64}"]
    with pytest.raises(UsageError, match="applies to one environment"):
        opened("ada/x", "ada/y", here=tmp_path, options=PINNED)


def test_files_are_refused_if_a_signature_is_required(tmp_path: Path) -> None:
    (tmp_path / "x-1-py3-none-any.whl").write_bytes(b"")
    with pytest.raises(UsageError, match="only hubs and bundles have signatures"):
        opened(
            "x-1-py3-none-any.whl", here=tmp_path, options=InstallOptions(require_signature=True)
        )


@pytest.mark.parametrize("word", ["tiny-env", "tiny-env[nlp]", "./other/tiny_env[nlp]"])
@pytest.mark.parametrize("options", [InstallOptions(require_signature=True), PINNED])
def test_a_folder_is_refused_however_it_is_named(
    word: str, options: InstallOptions, tmp_path: Path
) -> None:
    options = replace(options, environments=Path("other"))
    write_project(tmp_path / "other" / "tiny_env")
    with pytest.raises(UsageError, match=r"on this machine|applies to one environment of a hub"):
        opened(word, here=tmp_path, options=options)
    assert opened("ada/x[nlp]", here=tmp_path, options=options).named


def test_a_bundle_is_recognized_by_its_name_or_its_first_member(
    bundle: Path, tmp_path: Path
) -> None:
    assert not is_bundle(zip_of(tmp_path / "other.zip", [("a", b"b")]))
    assert is_bundle(bundle_of(tmp_path / "renamed.zip", {}))
    assert check_bundle("ada/wordle", Silent()) is None
    checked = check_bundle(str(bundle), Silent())
    assert checked is not None
    assert checked.path == bundle
