from pathlib import Path

import httpx

from prime_cli.wire.codec import Envelope, decode, to_builtins
from prime_cli.wire.locks import Capabilities, Lock, LockedPackage
from tests.hub.pushing import HUB, Push, data, open_app, sha256


def lock_of(wheel: bytes, verifiers: str = "0.1.14") -> Lock:
    packages = (LockedPackage("verifiers", verifiers, sha256=("0" * 64,)),)
    return Lock(1, sha256(wheel), verifiers, "v0", "3.11", "date", packages)


def put(client: httpx.Client, lock: Lock) -> httpx.Response:
    return client.put(f"{HUB}/ada/word/@0.1.0/lock", json=to_builtins(lock))


def test_lock_is_kept_beside_the_version(client: httpx.Client) -> None:
    push = Push(client).run()
    assert data(client.get(f"{HUB}/ada/word/@latest")).get("has_lock") is None
    for lock in (lock_of(push.wheel), lock_of(push.wheel, "0.3.1")):
        data(put(client, lock))
        answer = client.get(f"{HUB}/ada/word/@latest/lock").raise_for_status()
        assert decode(answer.content, Envelope[Lock]).data == lock
    assert data(client.get(f"{HUB}/ada/word/@latest"))["has_lock"] is True


def test_version_without_a_lock_has_none(client: httpx.Client) -> None:
    Push(client).run()
    assert client.get(f"{HUB}/ada/word/@0.1.0/lock").status_code == 404


def test_lock_of_another_wheel_is_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put(client, lock_of(b"another wheel"))
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_lock_of_somebody_elses_version_is_refused(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put(open_app(folder, "eve"), lock_of(push.wheel)).status_code == 403


def test_lock_goes_with_its_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put(client, lock_of(push.wheel)))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(f"{HUB}/ada/word/@0.1.0/lock").status_code == 404


def test_hub_says_that_it_keeps_locks(client: httpx.Client) -> None:
    found = decode(client.get("/api/v1/capabilities").content, Capabilities)
    assert "locks" in found.features
