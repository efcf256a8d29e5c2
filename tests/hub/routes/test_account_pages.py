"""The pages of an account: what they show and change, and what others see of it."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

from prime_cli.hub.services.key_management import list_keys
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data
from tests.hub.routes.browsing import open_browser, signed_in
from tests.hub.services.compute.renting import PodHub

TOKENS, TEAMS, SECRETS = "/dashboard/tokens", "/dashboard/teams", "/dashboard/secrets"


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(accounts_hub: AccountsHub) -> None:
    browser = open_browser(accounts_hub)
    answer = browser.get("/dashboard/hub/audit?user=ada")
    assert answer.headers["location"] == "/login?next=%2Fdashboard%2Fhub%2Faudit%3Fuser%3Dada"


def test_a_form_whose_session_has_ended_leads_to_no_address_of_a_form(
    accounts_hub: AccountsHub,
) -> None:
    browser = open_browser(accounts_hub)
    answer = browser.client.post(f"{TOKENS}/abc/revoke", data={"form_token": "old"})
    assert answer.status_code >= 400 or answer.headers["location"] == "/login"
    assert "revoke" not in answer.text
    assert "next=" not in answer.text


def test_the_way_back_to_a_page_is_its_address_as_it_was_written(
    accounts_hub: AccountsHub,
) -> None:
    browser = open_browser(accounts_hub)
    for name in ("a%2541.py", "%C3%A9"):
        path = f"/dashboard/environments/ada/x/@0.1.0/files/{name}"
        found = browser.get(path, headers={"accept": "text/html"}).text
        assert quote(path, safe="") in found


def test_rows_that_went_meanwhile_leave_the_way_back(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    ada.send(SECRETS, SECRETS, name="TOKEN", value="x")
    page = ada.get(f"{SECRETS}?from=101").text
    assert "no secrets" not in page
    assert f"{SECRETS}?before=2" in page


def test_a_token_is_created_shown_once_and_revoked(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    accounts_hub.team("lab", ada="MEMBER")
    made = ada.send(TOKENS, TOKENS, name="ci", scope="read", owner="lab", days="30")
    key = unescape(re.findall(r"<code>(prime_sk_[^<]{20,})</code>", made.text)[0])
    caller = accounts_hub.caller(key)
    assert caller.slug == "ada"
    assert caller.reads == {"lab"}
    assert not caller.writes
    assert key not in ada.get(TOKENS).text
    (item,) = [each for each in list_keys(accounts_hub.hub, OPERATOR) if each.name == "ci"]
    assert item.expires_at is not None
    assert item.expires_at.startswith("2026-12-21")
    assert ada.send(f"{TOKENS}/{item.id}/revoke", TOKENS).headers["location"] == TOKENS
    assert accounts_hub.client(key).get("/api/v1/user/whoami").status_code == 401


def test_a_wrong_field_is_told_on_the_page_of_the_form(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    for wrong in ({"days": "soon"}, {"scope": "all"}, {"owner": "others"}, {"colour": "red"}):
        answer = ada.send(TOKENS, TOKENS, **wrong)
        assert answer.status_code in {400, 404, 422}, wrong
        assert 'role="alert"' in answer.text
    assert len(list_keys(accounts_hub.hub, OPERATOR, "ada")) == 2


def test_a_session_makes_no_key_that_its_own_may_not(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada", scope="write")
    assert ada.send(TOKENS, TOKENS, name="more", scope="read").status_code == 403
    assert "more" not in {each.name for each in list_keys(accounts_hub.hub, OPERATOR)}


def test_a_second_user_revokes_nothing_of_the_first(accounts_hub: AccountsHub) -> None:
    ada, eve = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "eve")
    theirs = list_keys(accounts_hub.hub, OPERATOR, "ada")[0].id
    assert eve.send(f"{TOKENS}/{theirs}/revoke", TOKENS).status_code == 404
    assert ada.get(TOKENS).status_code == 200


def test_an_admin_of_a_team_changes_its_members(accounts_hub: AccountsHub) -> None:
    ada, bob = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "bob")
    accounts_hub.team("lab", ada="ADMIN")
    page = f"{TEAMS}/lab"
    assert bob.get(page).status_code == 404
    ada.send(f"{page}/members", page, user="bob", role="member")
    assert "Invite by an address" not in bob.get(page).text
    assert "prime teams invite" not in bob.get(page).text
    answer = bob.send(f"{page}/members", TOKENS, user="bob", role="admin")
    assert answer.status_code == 403
    ada.send(f"{page}/members", page, user="bob", role="admin")
    assert "Invite by an address" in bob.get(page).text
    assert "prime teams invite lab" in bob.get(page).text
    ada.send(f"{page}/members", page, user="bob", role="member")
    left = bob.send(f"{page}/members/bob/remove", page)
    assert left.headers["location"] == TEAMS
    assert bob.get(page).status_code == 404
    assert bob.get(TEAMS).status_code == 200
    assert f'href="{page}"' not in bob.get(TEAMS).text


def test_an_invitation_is_shown_once_and_revoked(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    accounts_hub.team("lab", ada="ADMIN")
    page = f"{TEAMS}/lab"
    made = ada.send(f"{page}/invitations", page, role="member", uses="2", days="1")
    assert "/join#prime_inv_" in made.text
    listed = ada.get(page).text
    assert "/join#prime_inv_" not in listed
    (path,) = re.findall(r'action="([^"]*/revoke)"', listed)
    ada.send(path, page)
    assert "/revoke" not in ada.get(page).text


def test_a_secret_is_set_and_never_shown(accounts_hub: AccountsHub) -> None:
    ada, eve = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "eve")
    accounts_hub.team("lab", ada="MEMBER")
    ada.send(SECRETS, SECRETS, name="API_TOKEN", value="hunter2\r\nmore")
    ada.send(SECRETS, SECRETS, name="API_TOKEN", value="hunter3", description="newer")
    page = ada.get(SECRETS).text
    assert "API_TOKEN" in page
    assert "newer" in page
    assert "hunter" not in page
    of_team = f"{SECRETS}?team=lab"
    ada.send(of_team, of_team, name="LAB_TOKEN", value="x")
    assert "LAB_TOKEN" in ada.get(of_team).text
    assert "LAB_TOKEN" not in ada.get(SECRETS).text
    assert eve.get(of_team).status_code == 404
    (path,) = re.findall(r'action="([^"]*/delete)"', page)
    assert eve.send(path, SECRETS).status_code == 404
    ada.send(path, SECRETS)
    assert "API_TOKEN</code>" not in ada.get(SECRETS).text


def test_an_environment_has_secrets_and_variables(accounts_hub: AccountsHub) -> None:
    ada, eve = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "eve")
    client = accounts_hub.client(accounts_hub.key("ada"))
    quiet = Push(client, "quiet", visibility="PRIVATE").run()
    Push(client, "loud", visibility="PUBLIC").run()
    page = f"{SECRETS}/ada/quiet"
    for value in ("one", "two"):
        ada.send(f"{page}/secrets", page, name="KEY", value=value)
        ada.send(f"{page}/variables", page, name="LEVEL", value=f"level-{value}")
    opened = data(client.post(f"{HUB}/{quiet.environment_id}/secrets/open"))
    assert opened["secrets"] == {"KEY": "two"}
    assert opened["variables"] == {"LEVEL": "level-two"}
    shown = ada.get(page).text
    assert "KEY" in shown
    assert "level-two" not in shown
    assert eve.get(page).status_code == 404
    assert eve.get(f"{SECRETS}/ada/loud").status_code == 403
    assert "quiet" in ada.get("/dashboard/account/environments").text
    for path in re.findall(r'action="([^"]*/delete)"', shown):
        assert eve.send(path, SECRETS).status_code == 404
        ada.send(path, page)
    assert "KEY</code>" not in ada.get(page).text


def test_a_pod_is_shown_with_its_cost_and_terminated(folder: Path) -> None:
    pods = PodHub(folder)
    accounts_hub = pods.accounts_hub
    ada = open_browser(accounts_hub)
    ada.sign_in(accounts_hub.key("ada"))
    eve = signed_in(accounts_hub, "eve")
    pod = pods.rent()
    accounts_hub.clock.wait(hours=1)
    page = ada.get("/dashboard/pods").text
    assert pod["id"] in page
    assert "USD so far" in page
    assert pod["id"] not in eve.get("/dashboard/pods").text
    path = f"/dashboard/pods/{pod['id']}/terminate"
    again = eve.send(path, TOKENS)
    assert again.status_code == 404
    assert "<h1>Pods</h1>" in again.text
    ada.send(path, "/dashboard/pods")
    assert pod["id"] not in ada.get("/dashboard/pods").text


def test_a_hub_without_providers_says_so(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    assert "This hub gives no pods" in ada.get("/dashboard/pods").text
    assert "This hub gives no sandboxes" in ada.get("/dashboard/sandboxes").text


def test_admin_pages_are_for_admins(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    for page in ("users", "storage", "audit", "load"):
        answer = ada.get(f"/dashboard/hub/{page}")
        assert answer.status_code == 403, page
        assert "/dashboard/hub/" not in ada.get("/dashboard/account").text
    users = "/dashboard/hub/users/ada/suspend"
    assert ada.send(users, TOKENS, reason="fun").status_code == 403
