"""Deleting what is one's own, on the real hub in process."""

from pathlib import Path

import pytest

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.envs.deletion import plan_deletion, run_deletion
from prime_cli.envs.listing import list_versions
from tests.helpers.hubs import open_hub, publish

TINY = EnvRef("ada", "tiny-env")


def _publish_two(hub: HubClient, folder: Path) -> None:
    publish(hub, folder, version="0.1.0")
    publish(hub, folder, version="0.2.0")


def test_a_plan_deletes_nothing(hub: HubClient, tmp_path: Path) -> None:
    _publish_two(hub, tmp_path)
    plan = plan_deletion(hub, TINY)
    assert plan.versions == ("0.2.0", "0.1.0")
    assert len(list_versions(hub, TINY)) == 2


def test_one_version_goes_and_the_others_stay(hub: HubClient, tmp_path: Path) -> None:
    _publish_two(hub, tmp_path)
    run_deletion(hub, plan_deletion(hub, TINY.at("0.2.0")))
    assert [row.version for row in list_versions(hub, TINY)] == ["0.1.0"]


def test_a_version_may_be_named_by_the_beginning_of_its_hash(
    hub: HubClient, tmp_path: Path
) -> None:
    _publish_two(hub, tmp_path)
    content_hash = list_versions(hub, TINY)[1].sha256
    plan = plan_deletion(hub, TINY.at(content_hash[:8]))
    assert plan.ref == TINY.at("0.1.0")
    assert plan.content_hash == content_hash


def test_seven_characters_are_no_hash(hub: HubClient, tmp_path: Path) -> None:
    _publish_two(hub, tmp_path)
    with pytest.raises(NotFound, match="has no version"):
        plan_deletion(hub, TINY.at(list_versions(hub, TINY)[1].sha256[:7]))


def test_a_whole_environment_goes_with_its_versions(hub: HubClient, tmp_path: Path) -> None:
    _publish_two(hub, tmp_path)
    run_deletion(hub, plan_deletion(hub, TINY))
    with pytest.raises(NotFound):
        list_versions(hub, TINY)


def test_what_is_not_there_is_not_found_with_what_is_near(hub: HubClient, tmp_path: Path) -> None:
    publish(hub, tmp_path)
    with pytest.raises(NotFound, match="There is no environment `ada/tiny-evn`") as caught:
        plan_deletion(hub, EnvRef("ada", "tiny-evn"))
    assert caught.value.hint == "did you mean `ada/tiny-env`?"


def test_what_belongs_to_another_stays(hub: HubClient, data: Path, tmp_path: Path) -> None:
    publish(open_hub(data, "bob"), tmp_path)
    with pytest.raises(NotAllowed):
        run_deletion(hub, plan_deletion(hub, EnvRef("bob", "tiny-env")))
    assert len(list_versions(hub, EnvRef("bob", "tiny-env"))) == 1
