import logging
from pathlib import Path

import pytest

from prime_cli.core.plugins import find_plugins, open_plugins
from tests.helpers.plugins import write_plugin

GROUP = "prime.tested"
OWN = {"ours": "prime_cli.core.digests:sha256_of"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_own_plugins_and_those_of_packages_are_in_the_order_of_their_names(site: Path) -> None:
    write_plugin(site, GROUP, theirs="their_package:make", another="their_package:other")
    assert list(find_plugins(GROUP, OWN)) == ["another", "ours", "theirs"]


def test_metadata_of_an_older_prime_count_for_nothing(site: Path) -> None:
    write_plugin(site, GROUP, removed="prime_cli.a_module_that_was_removed:make")
    assert list(find_plugins(GROUP, OWN)) == ["ours"]


def test_no_package_replaces_an_own_plugin(site: Path) -> None:
    write_plugin(site, GROUP, ours="their_package:make")
    assert find_plugins(GROUP, OWN)["ours"].value == OWN["ours"]


def test_each_is_opened_with_the_context_of_its_name(site: Path) -> None:
    write_plugin(site, GROUP, small="builtins:str.lower", large="builtins:str.upper")
    opened = dict(open_plugins(GROUP, {}, lambda name: f"For {name}"))
    assert opened == {"large": "FOR LARGE", "small": "for small"}


def test_a_broken_package_is_logged_and_left_out(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_plugin(site, GROUP, good="builtins:str", gone="a_package_that_is_gone:make")
    with caplog.at_level(logging.ERROR):
        assert dict(open_plugins(GROUP, {}, lambda name: name)) == {"good": "good"}
    assert "`gone` of `a_package_that_is_gone:make` cannot be opened" in caplog.text


def test_a_broken_plugin_of_our_own_is_a_failure() -> None:
    with pytest.raises(ModuleNotFoundError):
        dict(open_plugins(GROUP, {"ours": "prime_cli.missing:make"}, str))
