"""Two servers on one PostgreSQL and one bucket are one hub: what one did, the other knows."""

import httpx
import pytest

from tests.hub.faults.shared_hub import SharedHub
from tests.hub.pushing import HUB, Push, data, names
from tests.hub.routes.test_logins import PAGE, Login, begin_at

pytestmark = pytest.mark.slow

JSON = {"accept": "application/vnd.pypi.simple.v1+json"}
KEYS = "/api/v1/user/keys"
WHOAMI = "/api/v1/user/whoami"


def indexed(client: httpx.Client, name: str) -> dict[str, str]:
    """The files on an index page, with their addresses."""
    answer = client.get(f"/admin/simple/{name}/", headers=JSON)
    if answer.status_code == 404:
        return {}
    return {file["filename"]: file["url"] for file in answer.raise_for_status().json()["files"]}


def test_version_is_everywhere_at_once(pair: SharedHub) -> None:
    a, b = pair.client(0), pair.client(1, key="")
    assert indexed(b, "seen") == {}
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        push = Push(a, "seen", version, metadata={"description": f"number{version[2]}"}).run()
        # The page of the version before is kept ready by now, and must not be shown.
        url = indexed(b, "seen")[push.wheel_filename]
        assert b.get(url).content == push.wheel
        assert b.get(f"{url}.metadata").status_code == 200
        assert data(b.get(f"{HUB}/admin/seen/@latest"))["semantic_version"] == version
        assert names(b, f"search=number{version[2]}") == ["seen"]
        assert len(indexed(b, "seen")) == len(indexed(a, "seen")) == int(version[2])


def test_upload_may_go_to_another_process(pair: SharedHub) -> None:
    push = Push(pair.client(0), "sent")
    push.begin()
    wheel, version = data(push.declare_wheel()), data(push.declare_version())
    for ticket, content in ((wheel, push.wheel), (version, push.sources)):
        url = pair.elsewhere(ticket["upload_url"])
        assert httpx.put(url, content=content, trust_env=False).status_code == 200
        # Used there, it is used here.
        again = httpx.put(ticket["upload_url"], content=content, trust_env=False)
        assert again.status_code == 404
    data(push.finalize("wheels", wheel["wheel_id"]))
    push.client = pair.client(1)
    data(push.finalize("versions", version["version_id"]))
    found = indexed(pair.client(0), "sent")
    assert list(found) == [push.wheel_filename]


def test_login_is_begun_approved_and_fetched_anywhere(pair: SharedHub) -> None:
    login = begin_at(pair.client(0, key=""))
    form = {"code": login.code, "key": pair.key, "answer": "approve"}
    page = pair.client(1, key="").post(PAGE, data=form)
    assert "logged in as <b>admin</b>" in page.text
    key = login.key()
    assert Login(pair.client(1, key=""), login.code, login.token).key() == key
    for place in (0, 1):
        assert data(pair.client(place, key).get(WHOAMI))["slug"] == "admin"


def test_key_is_good_and_revoked_everywhere_at_once(pair: SharedHub) -> None:
    for made_at, used_at in ((0, 1), (1, 0)):
        admin = pair.client(made_at)
        made = data(admin.post(KEYS, json={"name": "short-lived"}))
        client = pair.client(used_at, made["key"])
        assert client.get(WHOAMI).status_code == 200
        assert admin.delete(f"{KEYS}/{made['id']}").status_code == 200
        assert client.get(WHOAMI).status_code == 401


def test_deleted_version_is_gone_everywhere_at_once(pair: SharedHub) -> None:
    a, b = pair.client(0), pair.client(1, key="")
    kept = Push(a, "gone").run()
    push = Push(a, "gone", "0.2.0").run()
    url = indexed(b, "gone")[push.wheel_filename]
    assert b.get(url).status_code == 200
    assert a.delete(f"{HUB}/admin/gone/@{push.content_hash}").is_success
    assert list(indexed(b, "gone")) == [kept.wheel_filename]
    assert b.get(url).status_code == 404
    assert b.get(f"{HUB}/admin/gone/@0.2.0").status_code == 404
    assert data(b.get(f"{HUB}/admin/gone/@latest"))["semantic_version"] == "0.1.0"
    assert a.delete(f"{HUB}/admin/gone").is_success
    assert indexed(b, "gone") == {}
    assert "gone" not in names(b, "limit=100")


def test_environment_that_became_private_is_hidden_everywhere_at_once(pair: SharedHub) -> None:
    push = Push(pair.client(0), "hidden").run()
    nobody = pair.client(1, key="")
    url = indexed(nobody, "hidden")[push.wheel_filename]
    assert nobody.get(url).status_code == 200
    push.change_visibility("PRIVATE")
    assert indexed(nobody, "hidden") == {}
    assert nobody.get(url).status_code == 404
    assert "hidden" not in names(nobody, "limit=100")
    assert list(indexed(pair.client(1), "hidden")) == [push.wheel_filename]
