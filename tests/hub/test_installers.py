"""uv and pip install from the index of a served hub, over a socket."""

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hub.installing import IndexHub, Installer, index_hub
from tests.hub.pushing import HUB, data, open_app, sha256

pytestmark = pytest.mark.slow

Install = Callable[..., set[str]]


@pytest.fixture
def hub(folder: Path) -> Iterator[IndexHub]:
    """A hub where Ada has published `word`, which needs her `base-words`."""
    with index_hub(folder) as hub:
        hub.publish("base-words")
        hub.publish("word", requires=("base_words>=0.1",))
        yield hub


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    """Somebody who has no credentials anywhere."""
    home = tmp_path / "home"
    home.mkdir()
    return Installer(home)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where packages are installed to."""
    return tmp_path / "site"


def uv_install(installer: Installer, target: Path, *argv: str, fails: bool = False) -> set[str]:
    """Install with uv into `target`; the wheels that are there then, as `name-version`."""
    options = ("--python", sys.executable, "--target", str(target))
    installer.uv("pip", "install", *options, *argv, fails=fails)
    return installed(target)


def pip_install(installer: Installer, target: Path, *argv: str, fails: bool = False) -> set[str]:
    """The same with pip."""
    installer.pip("install", "--target", str(target), *argv, fails=fails)
    return installed(target)


def installed(target: Path) -> set[str]:
    return {path.name.removesuffix(".dist-info") for path in target.glob("*.dist-info")}


def write_project(folder: Path, index: str) -> Path:
    """A project that takes everything from one index."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "demo"\nversion = "0"\nrequires-python = ">=3.11"\n'
        f'[[tool.uv.index]]\nname = "ada"\nurl = "{index}"\ndefault = true\n'
    )
    return folder


def test_uv_project_adds_locks_and_syncs_from_its_lock(
    hub: IndexHub, installer: Installer, tmp_path: Path
) -> None:
    project = write_project(tmp_path / "project", hub.index())
    installer.uv("add", "--no-sync", "--python", sys.executable, "word", cwd=project)
    assert hub.requests("GET", ".whl") == []
    lock = tomllib.loads((project / "uv.lock").read_text())
    packages = {package["name"]: package for package in lock["package"]}
    assert packages.keys() == {"demo", "word", "base-words"}
    [wheel] = packages["word"]["wheels"]
    assert wheel["url"].startswith(f"{hub.url}/files/ada/word/")
    assert "upload-time" in wheel
    installer.uv("sync", "--locked", "--python", sys.executable, cwd=project)
    [site] = (project / ".venv").glob("lib/*/site-packages")
    assert installed(site) == {"word-0.1.0", "base_words-0.1.0"}
    assert len(hub.requests("GET", ".whl")) == 2


@pytest.mark.parametrize("install", [uv_install, pip_install])
def test_a_secondary_index_is_skipped_for_packages_it_lacks(
    hub: IndexHub, installer: Installer, target: Path, install: Install
) -> None:
    hub.publish("top", owner="bob", requires=("word",))
    hub.publish("only-here", owner="bob")
    urls = ("--index-url", hub.index("bob"), "--extra-index-url", hub.index())
    found = install(installer, target, *urls, "top", "only-here")
    assert found == {"top-0.1.0", "only_here-0.1.0", "word-0.1.0", "base_words-0.1.0"}


@pytest.mark.parametrize("install", [uv_install, pip_install])
def test_metadata_is_read_alone_and_each_wheel_fetched_once(
    hub: IndexHub, installer: Installer, target: Path, install: Install
) -> None:
    hub.publish("word", "0.2.0", requires=("base_words>=9",))
    install(installer, target, "--index-url", hub.index(), "word<0.2")
    assert installed(target) == {"word-0.1.0", "base_words-0.1.0"}
    assert len(hub.requests("GET", ".metadata")) == 2
    assert len(hub.requests("GET", ".whl")) == 2
    assert not any("0.2.0" in path for path in hub.requests("GET", ".whl"))


def test_pip_resolves_without_a_single_wheel(hub: IndexHub, installer: Installer) -> None:
    report = installer.pip("install", "--dry-run", "--ignore-installed", "--index-url",
                           hub.index(), "word")  # fmt: skip
    assert "Would install base-words-0.1.0 word-0.1.0" in report
    assert len(hub.requests("GET", ".metadata")) == 2
    assert hub.requests("GET", ".whl") == []


def test_pip_downloads_the_published_bytes(
    hub: IndexHub, installer: Installer, tmp_path: Path
) -> None:
    push = hub.publish("other")
    installer.pip("download", "--no-deps", "-d", str(tmp_path), "--index-url", hub.index(), "other")
    assert (tmp_path / push.wheel_filename).read_bytes() == push.wheel


def test_hashes_that_are_required_are_those_of_the_index(
    hub: IndexHub, installer: Installer, target: Path, tmp_path: Path
) -> None:
    push = hub.publish("other")
    wanted = tmp_path / "requirements.txt"
    for digest, fails in ((sha256(push.wheel), False), ("0" * 64, True)):
        wanted.write_text(f"other==0.1.0 --hash=sha256:{digest}\n")
        argv = ("--require-hashes", "-r", str(wanted), "--index-url", hub.index())
        uv_install(installer, target / digest[:4], *argv, fails=fails)


def test_uv_goes_back_in_time(hub: IndexHub, installer: Installer, target: Path) -> None:
    hub.publish("clock", "0.1.0", day="2026-01-10")
    hub.publish("clock", "0.2.0", day="2026-06-10")
    argv = ("--index-url", hub.index(), "clock", "--exclude-newer")
    assert uv_install(installer, target / "now", *argv, "2026-09-01") == {"clock-0.2.0"}
    assert uv_install(installer, target / "then", *argv, "2026-03-01") == {"clock-0.1.0"}
    assert uv_install(installer, target / "ever", *argv, "2025-01-01", fails=True) == set()


@pytest.mark.parametrize("install", [uv_install, pip_install])
def test_yanked_version_is_for_those_who_pin_it(
    hub: IndexHub, installer: Installer, target: Path, install: Install
) -> None:
    hub.publish("word", "0.2.0")
    client = open_app(hub.data)
    data(client.post(f"{HUB}/ada/word/@0.2.0/yank", json={"reason": "wrong rewards"}))
    argv = ("--no-deps", "--index-url", hub.index())
    assert install(installer, target / "any", *argv, "word") == {"word-0.1.0"}
    assert install(installer, target / "pinned", *argv, "word==0.2.0") == {"word-0.2.0"}


@pytest.mark.parametrize("install", [uv_install, pip_install])
@pytest.mark.parametrize("form", ["__token__:{}", "{}:", "ada:{}"])
def test_private_package_is_installed_with_the_key_in_the_url(
    hub: IndexHub, installer: Installer, target: Path, install: Install, form: str
) -> None:
    hub.publish("secret", visibility="PRIVATE", requires=("word",))
    index = hub.index(credentials=form.format(hub.key()))
    found = install(installer, target, "--index-url", index, "secret")
    assert found == {"secret-0.1.0", "word-0.1.0", "base_words-0.1.0"}


@pytest.mark.parametrize("install", [uv_install, pip_install])
def test_private_package_is_installed_with_the_key_in_netrc(
    hub: IndexHub, installer: Installer, target: Path, install: Install
) -> None:
    hub.publish("secret", visibility="PRIVATE")
    netrc = installer.home / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login __token__ password {hub.key()}\n")
    netrc.chmod(0o600)
    assert install(installer, target, "--index-url", hub.index(), "secret") == {"secret-0.1.0"}


def test_uv_sends_the_key_of_a_named_index(
    hub: IndexHub, installer: Installer, tmp_path: Path
) -> None:
    hub.publish("secret", visibility="PRIVATE")
    project = write_project(tmp_path / "project", hub.index())
    installer.variables = {
        "UV_INDEX_ADA_USERNAME": "__token__",
        "UV_INDEX_ADA_PASSWORD": hub.key(),
    }
    installer.uv("add", "--python", sys.executable, "secret", cwd=project)
    [site] = (project / ".venv").glob("lib/*/site-packages")
    assert installed(site) == {"secret-0.1.0"}
    assert hub.key() not in (project / "uv.lock").read_text()


@pytest.mark.parametrize("install", [uv_install, pip_install])
def test_a_private_package_looks_missing_without_a_key(
    hub: IndexHub, installer: Installer, target: Path, install: Install
) -> None:
    hub.publish("secret", visibility="PRIVATE")
    for index in (hub.index(), hub.index(credentials=f"__token__:{hub.key('bob')}")):
        assert install(installer, target, "--index-url", index, "secret", fails=True) == set()
    assert "GET /ada/simple/secret/ 404" in hub.seen
    assert not any(line.endswith(" 401") for line in hub.seen)


def test_useless_credentials_are_reported(
    hub: IndexHub, installer: Installer, target: Path
) -> None:
    hub.publish("secret", visibility="PRIVATE")
    index = hub.index(credentials="__token__:expired")
    said = installer.uv("pip", "install", "--python", sys.executable, "--target", str(target),
                        "--index-url", index, "secret", fails=True)  # fmt: skip
    assert "401" in said
    assert "401" in installer.pip("install", "--index-url", index, "secret", fails=True)
    assert uv_install(installer, target, "--index-url", index, "base-words") == {"base_words-0.1.0"}
