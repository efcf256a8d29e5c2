"""What a hub that is broken inside tells: everything to its log, nothing of itself to strangers."""

import logging

import httpx
import pytest

from prime_cli.hub.serving.server import make_admin
from tests.helpers.storage import files_only
from tests.hub.accounts_hub import AccountsHub
from tests.hub.pushing import HUB, Push

LIST = f"{HUB}/"


@pytest.fixture
def broken(accounts_hub: AccountsHub) -> AccountsHub:
    """A hub whose database has lost a table."""
    accounts_hub.user("ada")
    with accounts_hub.hub.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE environments RENAME TO elsewhere")
    return accounts_hub


@pytest.mark.parametrize("key", [None, "ada"])
def test_a_broken_database_names_no_place_of_the_hub(
    broken: AccountsHub, key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = broken.client(broken.key(key) if key else None).get(LIST)
    problem = answer.json()
    assert answer.status_code == 507
    assert problem["detail"] == "The hub cannot store or read this now"
    assert "ask the hub's admin" in problem["hint"]
    assert broken.hub.database.name in caplog.text
    assert "environments" in caplog.text


def test_an_admin_reads_what_broke(broken: AccountsHub) -> None:
    key = make_admin(broken.hub, "boss")
    with broken.client(key) as admin:
        assert broken.hub.database.name in admin.get(LIST).json()["detail"]


def test_a_page_of_a_broken_hub_names_no_place_either(broken: AccountsHub) -> None:
    answer = broken.client().get("/")
    assert answer.status_code == 507
    assert broken.hub.database.name not in answer.text
    assert "The hub cannot store or read this now" in answer.text


@files_only
def test_a_broken_storage_names_no_folder(accounts_hub: AccountsHub) -> None:
    with accounts_hub.user("ada") as ada:
        push = Push(ada)
        wheel = _fetch(ada, push)
        blobs = accounts_hub.data / "blobs"
        blobs.rename(accounts_hub.data / "elsewhere")
        blobs.write_text("a file")
        answer = ada.get(wheel)
    assert answer.status_code >= 400
    assert str(accounts_hub.data) not in answer.text


def _fetch(client: httpx.Client, push: Push) -> str:
    """The address of the wheel, which works."""
    push.run()
    url = str(client.get(f"{HUB}/ada/word/@latest").json()["data"]["wheel_url"])
    client.get(url).raise_for_status()
    return url
