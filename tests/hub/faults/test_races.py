"""Clients that do the same at the same moment, through several processes: one wins, none loses."""

import hashlib
import random
from functools import partial

import httpx
import pytest

from tests.hub import evaluating
from tests.hub.faults.shared_hub import SharedHub, at_once, attempt
from tests.hub.pushing import HUB, Push, data, names

pytestmark = pytest.mark.slow

CLIENTS = 6
KEYS = "/api/v1/user/keys"


@pytest.fixture(params=["pair", "workers"])
def hub(request: pytest.FixtureRequest) -> SharedHub:
    """PostgreSQL and a bucket behind two servers; SQLite and files behind two workers."""
    found: SharedHub = request.getfixturevalue(request.param)
    return found


def pushes(hub: SharedHub, name: str, codes: list[str]) -> list[Push]:
    """A push of the same version for each code, by turns at either address."""
    return [Push(hub.client(place), name, code=code) for place, code in enumerate(codes)]


def published(hub: SharedHub, name: str) -> list[str]:
    """The versions, newest first, about which both addresses agree."""
    answers = [hub.client(place).get(f"{HUB}/admin/{name}/versions") for place in (0, 1)]
    here, there = ([each["version"] for each in data(answer)["versions"]] for answer in answers)
    assert here == there
    return here


def wheel_of(hub: SharedHub, name: str, version: str = "latest") -> bytes:
    """Its bytes, which are what the detail says."""
    client = hub.client(1)
    detail = data(client.get(f"{HUB}/admin/{name}/@{version}"))
    content = client.get(detail["wheel_url"]).raise_for_status().content
    assert hashlib.sha256(content).hexdigest() == detail["wheel_sha256"]
    return content


def test_one_of_many_contents_becomes_the_version(hub: SharedHub) -> None:
    runners = pushes(hub, "wanted", [f"N = {number}\n" for number in range(CLIENTS)])
    answers = at_once([partial(attempt, push) for push in runners])
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * (CLIENTS - 1)
    assert published(hub, "wanted") == ["0.1.0"]
    (winner,) = (push for push, answer in zip(runners, answers, strict=True) if answer.is_success)
    assert wheel_of(hub, "wanted") == winner.wheel
    # The others have lost nothing but the number.
    losers = [push for push in runners if push is not winner]
    again = [
        Push(push.client, "wanted", f"0.1.{number}", code=push.code)
        for number, push in enumerate(losers, start=1)
    ]
    answers = at_once([partial(attempt, push) for push in again])
    assert [answer.status_code for answer in answers] == [200] * len(again)
    assert len(published(hub, "wanted")) == CLIENTS
    for push in again:
        assert wheel_of(hub, "wanted", push.version) == push.wheel


def test_same_content_by_several_is_one_version(hub: SharedHub) -> None:
    runners = pushes(hub, "same", ["N = 1\n"] * CLIENTS)
    answers = at_once([partial(attempt, push) for push in runners])
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert any(answer.is_success for answer in answers)
    for answer in answers:
        if not answer.is_success:
            # The words by which official clients know that nothing is to be done.
            assert "content hash" in answer.json()["detail"]
            assert "already exists" in answer.json()["detail"]
    assert published(hub, "same") == ["0.1.0"]
    assert wheel_of(hub, "same") == runners[0].wheel


def test_new_name_is_taken_once(hub: SharedHub) -> None:
    runners = [Push(hub.client(n), "new", f"0.1.{n}", code=str(n)) for n in range(CLIENTS)]
    made = [data(answer) for answer in at_once([push.resolve for push in runners])]
    assert len({each["id"] for each in made}) == 1
    assert [each["created"] for each in made].count(True) == 1
    answers = at_once([partial(attempt, push) for push in runners])
    assert [answer.status_code for answer in answers] == [200] * CLIENTS
    assert sorted(published(hub, "new")) == sorted(push.version for push in runners)
    assert names(hub.client(0), "limit=100").count("new") == 1


def test_batches_count_once_in_any_order(hub: SharedHub) -> None:
    Push(hub.client(0), "judged").run()
    reference = [{"id": "admin/judged"}]
    evaluation = evaluating.made(hub.client(0), environments=reference)
    samples = [{"example_id": n, "rollout_number": 0, "reward": n % 2} for n in range(120)]
    batches = [samples[start : start + 10] for start in range(0, len(samples), 10)]
    # Each twice, and all once more cut in another way.
    sent = batches * 2 + [samples[start : start + 40] for start in range(0, len(samples), 40)]
    random.shuffle(sent)
    works = [
        partial(evaluating.push, hub.client(place), evaluation, batch)
        for place, batch in enumerate(sent)
    ]
    answers = at_once(works)
    assert [answer.status_code for answer in answers] == [200] * len(sent)
    ends = at_once([partial(evaluating.finalize, hub.client(n), evaluation) for n in range(2)])
    assert [answer.status_code for answer in ends] == [200, 200]
    for place in (0, 1):
        client = hub.client(place)
        found = evaluating.samples_of(client, evaluation)
        assert sorted(sample["example_id"] for sample in found) == list(range(len(samples)))
        detail = evaluating.show(client, evaluation)
        assert (detail["total_samples"], detail["avg_score"]) == (len(samples), 0.5)


def test_download_is_whole_or_fails_when_its_version_is_deleted(hub: SharedHub) -> None:
    push = Push(hub.client(0), "passing", code=f"# {random.randbytes(1_500_000).hex()}\n").run()
    url = data(hub.client(0).get(f"{HUB}/admin/passing/@latest"))["wheel_url"]

    def download(place: int) -> str:
        client = hub.client(place)
        with client.stream("GET", url if place % 2 == 0 else hub.elsewhere(url)) as answer:
            if not answer.is_success:
                return str(answer.status_code)
            try:
                content = b"".join(answer.iter_raw())
            except httpx.TransportError:
                return "broken off"
        assert content == push.wheel
        return "whole"

    def delete() -> str:
        answer = hub.client(1).delete(f"{HUB}/admin/passing/@{push.content_hash}")
        return "deleted" if answer.is_success else answer.text

    found = at_once([partial(download, place) for place in range(CLIENTS)] + [delete])
    assert found[-1] == "deleted"
    assert set(found[:-1]) <= {"whole", "broken off", "404"}
    assert download(0) == download(1) == "404"


def test_version_that_is_deleted_while_it_is_sent_again_is_whole_or_gone(hub: SharedHub) -> None:
    for _ in range(5):
        push = Push(hub.client(0), "flipped").run()
        again = Push(hub.client(1), "flipped")
        delete = partial(hub.client(0).delete, f"{HUB}/admin/flipped/@{push.content_hash}")
        sent, deleted = at_once([partial(attempt, again), delete])
        assert deleted.is_success
        assert sent.status_code in {200, 404, 409}, sent.text
        if sent.is_success:
            assert wheel_of(hub, "flipped") == push.wheel
        # Whatever happened, the next try finds the way.
        assert attempt(Push(hub.client(0), "flipped")).status_code in {200, 409}
        assert wheel_of(hub, "flipped") == push.wheel
        hub.client(0).delete(f"{HUB}/admin/flipped/@{push.content_hash}").raise_for_status()


def test_no_key_outlives_the_one_it_was_made_with(hub: SharedHub) -> None:
    made_in_time = 0
    for _ in range(10):
        root = data(hub.client(0).post(KEYS, json={"scope": "admin"}))
        making = [partial(hub.client(n, root["key"]).post, KEYS, json={}) for n in range(CLIENTS)]
        revoke = partial(hub.client(1).delete, f"{KEYS}/{root['id']}")
        *answers, revoked = at_once([*making, revoke])
        assert {answer.status_code for answer in answers} <= {200, 401}
        made = [data(answer)["key"] for answer in answers if answer.is_success]
        assert data(revoked)["revoked"] == 1 + len(made)
        made_in_time += len(made)
        for place, key in enumerate([root["key"], *made]):
            assert hub.client(place, key).get("/api/v1/user/whoami").status_code == 401
    assert made_in_time > 0
