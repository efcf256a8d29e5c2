"""The answers that official clients read, in the shapes that they read."""

import httpx
import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import EVALUATIONS, create, finished, push
from tests.hub.pushing import Push


@pytest.fixture
def evaluation(client: httpx.Client) -> str:
    """A complete evaluation of `ada/word` with three samples."""
    Push(client).run()
    return finished(client, [{"example_id": n, "reward": n} for n in range(3)], metadata=None)


def test_new_evaluation_is_answered_with_its_id_and_its_page(client: httpx.Client) -> None:
    Push(client).run()
    answer = create(client)
    ticket = answer.json()
    assert answer.status_code == 201
    assert (
        ticket["viewer_url"] == f"http://hub.local/dashboard/evaluations/{ticket['evaluation_id']}"
    )
    assert (ticket["name"], ticket["status"]) == ("a run", "PENDING")


@pytest.mark.parametrize("slash", ["", "/"])
def test_collection_has_a_slash_or_not(client: httpx.Client, evaluation: str, slash: str) -> None:
    assert client.get(EVALUATIONS + slash).json()["total"] == 1
    body = {"name": "n", "environments": [{"id": "ada/word"}]}
    assert client.post(EVALUATIONS + slash, json=body).status_code == 201


def test_row_of_the_list_has_what_the_official_table_shows(
    client: httpx.Client, evaluation: str
) -> None:
    answer = client.get(f"{EVALUATIONS}/?skip=0&limit=20").json()
    row = answer["evaluations"][0]
    assert (answer["total"], row["evaluation_id"]) == (1, evaluation)
    assert row["environment_names"] == ["ada/word"]
    assert (row["metadata"], row["is_hosted"], row["status"]) == ({}, False, "COMPLETED")
    assert "model_name" in row


def test_page_of_samples_says_in_both_ways_whether_there_are_more(
    client: httpx.Client, evaluation: str
) -> None:
    answer = client.get(f"{EVALUATIONS}/{evaluation}/samples?page=1&limit=2").json()
    assert {name: answer[name] for name in ("total", "page", "limit")} == {
        "total": 3,
        "page": 1,
        "limit": 2,
    }
    assert (answer["has_more"], answer["hasMore"]) == (True, True)


def test_samples_beyond_the_end_are_an_empty_page(client: httpx.Client, evaluation: str) -> None:
    answer = client.get(f"{EVALUATIONS}/{evaluation}/samples?page=9").json()
    assert (answer["samples"], answer["total"], answer["has_more"]) == ([], 3, False)


def test_push_again_into_an_evaluation_goes_as_the_official_client_does(
    client: httpx.Client, evaluation: str
) -> None:
    """`prime eval push --eval ID`: GET, PUT, samples, finalize."""
    address = f"{EVALUATIONS}/{evaluation}"
    client.get(address).raise_for_status()
    renamed = {"name": "again", "tags": [], "metadata": {"a": 1}, "metrics": {"reward": 1}}
    assert client.put(address, json=renamed).json()["evaluation_id"] == evaluation
    assert push(client, evaluation, [{"example_id": 9, "reward": 9}]).is_success
    assert client.post(f"{address}/finalize", json={"metrics": {}}).json()["total_samples"] == 4


def test_deletion_is_answered_with_an_object(client: httpx.Client, evaluation: str) -> None:
    answer = client.delete(f"{EVALUATIONS}/{evaluation}")
    assert (answer.status_code, answer.json()["evaluation_id"]) == (200, evaluation)


def test_writing_needs_a_key_before_anything_is_read(accounts_hub: AccountsHub) -> None:
    nobody = accounts_hub.client()
    for method, path in [("POST", ""), ("PUT", "/x"), ("DELETE", "/x"), ("POST", "/x/samples")]:
        answer = nobody.request(method, EVALUATIONS + path, content=b"no JSON")
        assert answer.status_code == 401


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'{"name": 3}', b"\xff", b"[" * 10**6])
def test_bodies_other_than_requests_are_refused(
    client: httpx.Client, evaluation: str, body: bytes
) -> None:
    assert client.post(EVALUATIONS, content=body).status_code == 422
    if body:
        answer = client.post(f"{EVALUATIONS}/{evaluation}/finalize", content=body)
        assert answer.status_code in (200, 422)
        assert client.put(f"{EVALUATIONS}/{evaluation}", content=body).status_code == 422


@pytest.mark.parametrize("odd", ["%00", "..", "'%20OR%201=1--", "\u00e9", "x" * 3000])
def test_ids_that_cannot_be_are_not_found(client: httpx.Client, odd: str) -> None:
    for path in (f"/{odd}", f"/{odd}/samples"):
        assert client.get(EVALUATIONS + path).status_code in (404, 422)


def test_texts_in_a_query_are_only_texts(client: httpx.Client, evaluation: str) -> None:
    for text in ("%00", "%25", "'--", "%5C", "%F0%9F%98%80"):
        for query in (f"environment_name={text}", f"environment_name=a/{text}", f"suite_id={text}"):
            assert client.get(f"{EVALUATIONS}/?{query}").status_code in (200, 422)
        found = client.get(f"{EVALUATIONS}/{evaluation}/samples?search={text}")
        assert found.status_code in (200, 422)
