"""The pages for admins of a hub."""

import re
from html import unescape
from typing import Any

import pytest
from sqlalchemy import event, insert

from prime_cli.hub.db.tables import members, owners, quotas
from prime_cli.hub.services.quotas import set_quota
from prime_cli.hub.services.users import create_user
from prime_cli.hub.serving.monitoring import Metrics
from prime_cli.wire.quotas import NewQuota
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.routes.browsing import Browser, open_browser, signed_in

NOW = "2026-11-21T12:00:00Z"
USERS, STORAGE, AUDIT = "/dashboard/hub/users", "/dashboard/hub/storage", "/dashboard/hub/audit"


@pytest.fixture
def boss(accounts_hub: AccountsHub) -> Browser:
    """A browser of an admin of the hub."""
    create_user(accounts_hub.hub, OPERATOR, "boss", admin=True)
    browser = open_browser(accounts_hub)
    browser.sign_in(accounts_hub.key("boss", scope="admin"))
    return browser


def test_an_admin_suspends_restores_and_signs_out_a_user(
    accounts_hub: AccountsHub, boss: Browser
) -> None:
    ada = signed_in(accounts_hub, "ada")
    assert "ada" in boss.get(USERS).text
    boss.send(f"{USERS}/ada/suspend", USERS, reason="spam <b>")
    assert "spam &lt;b&gt;" in boss.get(USERS).text
    assert ada.get("/dashboard/account").status_code == 403
    boss.send(f"{USERS}/ada/restore", USERS)
    assert ada.get("/dashboard/account").status_code == 200
    boss.send(f"{USERS}/ada/revoke", USERS)
    assert ada.get("/dashboard/account").status_code == 303


def test_commands_name_the_hub_as_a_login_does(boss: Browser) -> None:
    for page in (USERS, STORAGE, AUDIT):
        shown = boss.get(page).text
        assert " --context hub.local</code>" in shown
        assert "prime login --hub http://hub.local --allow-http</code>" in shown


def test_an_admin_creates_a_user_whose_key_is_shown_once(
    accounts_hub: AccountsHub, boss: Browser
) -> None:
    made = boss.send(USERS, USERS, slug="eve", name="Eve <b>", email="", with_key="1")
    assert made.status_code == 200
    key = re.search(r"<code>(pit_[^<]+|[^<]{30,})</code>", made.text)
    assert key is not None
    assert open_browser(accounts_hub).sign_in(unescape(key[1])).status_code == 303
    listed = boss.get(USERS).text
    assert key[1] not in listed
    assert "Eve &lt;b&gt;" in listed
    quiet = boss.send(USERS, USERS, slug="quiet")
    assert "quiet</b> is a user" in quiet.text
    assert "shown only once" not in quiet.text


def test_a_user_that_exists_or_has_no_valid_name_is_not_created(boss: Browser) -> None:
    assert "already" in boss.send(USERS, USERS, slug="boss").text
    assert boss.send(USERS, USERS, slug="No Name").status_code >= 400


def test_only_an_admin_with_the_form_of_the_page_creates_a_user(
    accounts_hub: AccountsHub, boss: Browser
) -> None:
    ada = signed_in(accounts_hub, "ada")
    refused = ada.send(USERS, "/dashboard/tokens", slug="eve")
    assert refused.status_code == 403
    forged = boss.client.post(USERS, data={"form_token": "invented", "slug": "eve"})
    assert forged.status_code == 403
    assert ">eve" not in boss.get(USERS).text


def test_an_admin_may_not_suspend_herself(boss: Browser) -> None:
    answer = boss.send(f"{USERS}/boss/suspend", USERS, reason="holidays")
    assert answer.status_code >= 400
    assert "cannot suspend yourself" in answer.text


def test_an_admin_sets_a_quota_and_takes_it_back(accounts_hub: AccountsHub, boss: Browser) -> None:
    accounts_hub.user("ada")
    boss.send(STORAGE, STORAGE, owner="ada", kind="storage", most="10GB")
    assert "of 10.0 GB" in boss.get(STORAGE).text
    boss.send(STORAGE, STORAGE, owner="ada", kind="storage")
    assert "of 10.0 GB" not in boss.get(STORAGE).text
    wrong = boss.send(STORAGE, STORAGE, kind="pods", most="10GB")
    assert "is not a quota" in wrong.text


def test_the_audit_log_is_read_page_by_page(accounts_hub: AccountsHub, boss: Browser) -> None:
    for number in range(120):
        accounts_hub.key("boss", name=f"key-{number}")
    first = boss.get(AUDIT, params={"action": "key.create"}).text
    assert "line: []" not in first
    assert "key-119" in first
    assert "key-5<" not in first
    address = first.split('">Older entries')[0].rsplit('href="', 1)[1].replace("&amp;", "&")
    older = boss.get(address).text
    assert "key-5" in older
    assert "key-119" not in older
    assert "Older entries" not in older


@pytest.mark.parametrize("path", [USERS, f"{USERS}?from=101&teams_from=101", STORAGE])
def test_a_page_reads_no_more_rows_than_it_shows(
    accounts_hub: AccountsHub, boss: Browser, path: str
) -> None:
    hub = accounts_hub.hub
    with hub.database.write() as connection:
        for number in range(250):
            who = {"name": "x", "created_at": NOW, "serial": 0, "suspended": "spam"}
            for kind in ("user", "team"):
                one = {"id": f"{kind}{number}", "slug": f"{kind}-{number:03}", "type": kind}
                connection.execute(insert(owners).values(**one, **who))
            joined = {"role": "MEMBER", "created_at": NOW}
            member = {"team_id": "team0", "user_id": f"user{number}", **joined}
            connection.execute(insert(members).values(**member))
            connection.execute(insert(quotas).values(subject=f"user{number}", storage=number))
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(hub.database.engine, "before_cursor_execute", note)
    try:
        assert boss.get(path).status_code == 200
    finally:
        event.remove(hub.database.engine, "before_cursor_execute", note)
    with hub.database.read() as connection:
        for statement, parameters in asked:
            if statement.startswith("SELECT"):
                rows = connection.exec_driver_sql(statement, parameters).all()
                assert len(rows) <= 101, statement


def test_lists_of_an_admin_go_on_where_a_page_ends(
    accounts_hub: AccountsHub, boss: Browser
) -> None:
    for number in range(60):
        create_user(accounts_hub.hub, OPERATOR, f"user-{number:02}")
    set_quota(accounts_hub.hub, OPERATOR, NewQuota(owner="user-07", storage=7))
    accounts_hub.team("lab", **{f"user-{number:02}": "MEMBER" for number in range(60)})
    assert ", and 10 more" in boss.get(USERS).text
    for path in (USERS, STORAGE):
        shown, at, pages = [], path, 0
        while at:
            text = boss.get(at).text
            shown += re.findall(r"<tr><td>(user-\d\d)[ <]", text)
            at = unescape("".join(re.findall(r'<a rel="next" href="([^"#]*)"', text)[:1]))
            pages += 1
        assert shown == [f"user-{number:02}" for number in range(60)], path
        assert pages > (path == USERS)
        last = boss.get(f"{path}?before=99").text
        assert "user-59<" in last
    assert "7 B" in boss.get(STORAGE).text


def test_the_load_is_that_of_a_served_hub(accounts_hub: AccountsHub, boss: Browser) -> None:
    assert boss.get("/dashboard/hub/load").status_code == 404
    metrics = Metrics()
    for status in (200, 200, 200, 503):
        metrics.count("/pods", "GET", status, seconds=0.125, sent=1234, received=0)
    accounts_hub.app.state.metrics = metrics.render
    page = boss.get("/dashboard/hub/load").text
    for shown in ("/pods", ">4<", ">1<", ">125<", "4,936"):
        assert shown in page, shown
