"""What official clients of any release lean on in an answer, beyond what it says."""

import httpx
import pytest

from tests.hub.pushing import HUB, Push, data

API = "/api/v1"


@pytest.mark.parametrize(
    "path",
    ["environmentshub", "evaluations", "secrets", "pods", "disks", "availability", "user/teams"],
)
def test_addresses_answer_with_and_without_a_slash_at_the_end(
    client: httpx.Client, path: str
) -> None:
    with_slash, without = client.get(f"{API}/{path}/"), client.get(f"{API}/{path}")
    assert (with_slash.status_code, with_slash.json()) == (200, without.json())


def test_post_to_an_address_with_a_slash_is_not_sent_on(client: httpx.Client) -> None:
    push = Push(client).run()
    body = {"name": "run", "environments": [{"id": push.environment_id}], "tags": []}
    for path in (f"{API}/evaluations/", f"{API}/evaluations"):
        answer = client.post(path, json=body)
        assert answer.status_code in (200, 201)
        assert answer.json()["evaluation_id"]


def test_deletions_answer_200_with_an_object(client: httpx.Client) -> None:
    push = Push(client).run()
    answers = [
        client.delete(f"{HUB}/ada/word/@{push.content_hash[:8]}"),
        client.delete(f"{HUB}/ada/word"),
    ]
    assert [(answer.status_code, type(answer.json())) for answer in answers] == [(200, dict)] * 2


def test_finalize_without_a_body_answers_with_an_object(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    push.push_wheel()
    version = push.push_sources()
    url = f"{HUB}/{push.environment_id}/versions/{version}/finalize"
    answer = client.post(url, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["data"]["success"]) == (200, True)


def test_addresses_to_send_to_and_fetch_from_are_absolute(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    assert data(push.declare_wheel())["upload_url"].startswith("http://")
    push.run()
    detail = data(client.get(f"{HUB}/ada/word/@latest"))
    assert detail["package_url"].startswith("http://")


def test_content_that_is_there_is_refused_in_the_words_that_clients_look_for(
    client: httpx.Client,
) -> None:
    push = Push(client).run()
    answer = push.declare_wheel()
    assert answer.status_code == 409
    detail = answer.json()["detail"]
    assert "content hash" in detail.lower()
    assert "already exists" in detail


def test_what_is_not_there_is_404_with_a_detail(client: httpx.Client) -> None:
    answer = client.get(f"{HUB}/ada/nothing/@latest")
    assert answer.status_code == 404
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize(
    ("method", "path", "body", "param"),
    [
        ("GET", "pods?limit=many", None, "limit"),
        ("GET", "environmentshub/?sort_order=sideways", None, "sort_order"),
        ("POST", "environmentshub/resolve", {"name": 7}, "name"),
        ("POST", "environmentshub/resolve", ["tiny"], "request"),
    ],
)
def test_what_cannot_be_is_422_that_also_names_the_part_in_the_published_form(
    client: httpx.Client, method: str, path: str, body: object, param: str
) -> None:
    answer = client.request(method, f"{API}/{path}", json=body)
    assert answer.status_code == 422
    told = answer.json()
    assert told["errors"] == [{"param": param, "details": told["detail"]}]


def test_flags_are_understood_as_either_library_writes_them(client: httpx.Client) -> None:
    Push(client).run()
    for flag in ("true", "True"):
        page = client.get(f"{HUB}/?include_teams={flag}&mine_only={flag}").json()
        assert page["total_count"] == 1
    for flag in ("false", "False"):
        assert client.get(f"{HUB}/?starred_only={flag}").json()["total_count"] == 1


def test_latest_version_is_text_in_a_list_and_an_object_in_a_status(client: httpx.Client) -> None:
    Push(client).run()
    assert client.get(f"{HUB}/").json()["data"][0]["latest_version"] == "0.1.0"
    newest = data(client.get(f"{HUB}/ada/word/status"))["latest_version"]
    assert newest["semantic_version"] == "0.1.0"


def test_environment_without_a_version_is_in_no_list(client: httpx.Client) -> None:
    Push(client).begin()
    page = client.get(f"{HUB}/").json()
    assert (page["data"], page["total_count"]) == ([], 0)


def test_machines_are_offered_in_the_shapes_of_old_and_new_releases(client: httpx.Client) -> None:
    for old in ("availability", "availability/clusters", "availability/gpu-summary"):
        assert client.get(f"{API}/{old}").json() == {}
    for new in ("availability/gpus", "availability/multi-node", "availability/disks"):
        answer = client.get(f"{API}/{new}?page=1&page_size=100").json()
        assert answer == {"items": [], "totalCount": 0}
    pods = client.get(f"{API}/pods?offset=0&limit=100").json()
    assert pods == {"total_count": 0, "offset": 0, "limit": 100, "data": []}
    assert client.get(f"{API}/pods/status?pod_ids=pod_1").json() == {"data": []}


def test_release_0_3_9_finds_its_sources_outside_of_the_api(client: httpx.Client) -> None:
    push = Push(client).run()
    assert data(client.get(f"{HUB}/ada/word/@latest"))["download_object_key"]
    got = client.get("/environmentshub/ada/word/@latest/download")
    assert got.content == push.sources
