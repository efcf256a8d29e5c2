"""Attacks on one hub in another process: pages that cost much, keys, rates, and what it tells."""

import select
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from tests.helpers.serving import ServedHub, serve
from tests.hub.attacks.conftest import MembersHub, scripted_engine
from tests.hub.pushing import HUB, Push, data, make_sources

pytestmark = pytest.mark.slow

HOSTILE = {
    "pictures": "![" * 50_000,
    "brackets": "[" * 100_000,
    "columns": "|" + "a|" * 1000 + "\n|" + "-|" * 1000 + "\n" + ("|" + "b|" * 1000 + "\n") * 45,
}
SLOW_SECONDS = 4
FAR = {"x-forwarded-for": "192.0.2.1"}
"""What no caller on the hub's own machine sends: with it the sender's limits are a stranger's."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHub]:
    data = tmp_path_factory.mktemp("served") / "hub"
    words = ("--rate-limit", "20", "--slow-timeout", str(SLOW_SECONDS), "--local-pods")
    with (
        scripted_engine() as engine,
        serve(data, *words, env={"CONTAINER_HOST": engine}) as served,
    ):
        yield served


def stranger(hub: ServedHub, address: str, **headers: str) -> httpx.Client:
    """Somebody at `address`, from elsewhere as far as the hub knows."""
    way = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=hub.url, transport=way, headers={**FAR, **headers}, timeout=60)


def test_hostile_readmes_are_rendered_once_and_hold_up_nobody(hub: ServedHub) -> None:
    with hub.client() as admin, hub.client("") as nobody:
        for name, readme in HOSTILE.items():
            push = Push(admin, name=name)
            push.sources = make_sources({"pyproject.toml": "", "README.md": readme})
            push.run()
        began = time.monotonic()
        assert nobody.get("/healthz").status_code == 200
        assert time.monotonic() - began < 2
        for name in HOSTILE:
            assert nobody.get(f"/dashboard/environments/admin/{name}").status_code == 200
        for name in HOSTILE:
            # By now each is kept, or was shown as its text for good.
            began = time.monotonic()
            page = nobody.get(f"/dashboard/environments/admin/{name}")
            assert time.monotonic() - began < 2
            assert len(page.content) < 2 * 1024 * 1024


def test_a_revoked_key_is_refused_by_the_very_next_request(hub: ServedHub) -> None:
    with hub.client() as admin:
        made = data(admin.post("/api/v1/user/keys", json={"name": "ci", "scope": "write"}))
        with hub.client(made["key"]) as owner:
            for _ in range(20):
                assert owner.get("/api/v1/user/whoami").status_code == 200
            admin.delete(f"/api/v1/user/keys/{made['id']}").raise_for_status()
            assert owner.get("/api/v1/user/whoami").status_code == 401


def test_one_address_that_asks_too_much_is_put_off_and_others_are_not(hub: ServedHub) -> None:
    with stranger(hub, "127.0.0.31") as greedy, stranger(hub, "127.0.0.32") as modest:
        answers = [greedy.get(f"{HUB}/") for _ in range(150)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert {answer.status_code for answer in answers} == {200, 429}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        # The header of a client that nobody trusts makes no other client of it.
        forged = greedy.get(f"{HUB}/", headers={"x-forwarded-for": "192.0.2.99"})
        assert forged.status_code == 429
        assert modest.get(f"{HUB}/").status_code == 200
        assert greedy.get("/healthz").status_code == 200


def test_guessed_keys_are_few_and_tell_nothing(hub: ServedHub) -> None:
    with stranger(hub, "127.0.0.33") as guesser:
        answers = [
            guesser.get(
                "/api/v1/user/whoami", headers={"authorization": f"Bearer prime_sk_{number}"}
            )
            for number in range(60)
        ]
    assert {answer.status_code for answer in answers} == {401, 429}
    assert len({answer.text for answer in answers if answer.status_code == 401}) == 1


def test_clients_of_a_trusted_proxy_are_limited_one_by_one(tmp_path: Path) -> None:
    # An address gets half of it, one request a second: none comes back while a slow machine asks.
    argv = ("--rate-limit", "2", "--trusted-proxies", "127.0.0.0/8")
    with serve(tmp_path / "hub", *argv) as hub, stranger(hub, "127.0.0.34") as proxy:
        answers = [proxy.get(f"{HUB}/").status_code for _ in range(150)]
        assert 429 in answers
        other = {"x-forwarded-for": "192.0.2.2"}
        assert proxy.get(f"{HUB}/", headers=other).status_code == 200
        # What a client writes itself comes before what the proxy saw.
        forged = {"x-forwarded-for": "192.0.2.3, 192.0.2.1"}
        assert proxy.get(f"{HUB}/", headers=forged).status_code == 429


def test_a_broken_hub_tells_strangers_nothing_of_itself(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub, stranger(hub, "127.0.0.35") as somebody:
        with sqlite3.connect(tmp_path / "hub" / "hub.db") as connection:
            connection.execute("ALTER TABLE environments RENAME TO elsewhere")
        for path in ("/", f"{HUB}/", "/admin/simple/word/", f"{HUB}/admin/word/@latest"):
            answer = somebody.get(path)
            assert answer.status_code >= 500, path
            assert str(tmp_path) not in answer.text
            assert "hub.db" not in answer.text
            assert "elsewhere" not in answer.text
        assert somebody.get("/metrics").status_code == 401
    assert "hub.db" in hub.err.read_text(encoding="utf-8")


# --- Pods, whose users come from the hub's own machine ---


def test_a_pod_is_not_taken_for_the_machine_that_it_runs_on(
    hub: ServedHub, members_hub: MembersHub
) -> None:
    assert members_hub.client().get("/metrics").status_code == 200  # a hub without pods
    way = httpx.HTTPTransport(local_address="127.0.0.36")
    with httpx.Client(base_url=hub.url, transport=way, timeout=60) as pod:
        assert pod.get("/metrics").status_code == 401
        assert "reasons" not in pod.get("/readyz").text
        answers = [pod.get(f"{HUB}/").status_code for _ in range(150)]
    assert set(answers) == {200, 429}


# --- Slowness ---


def test_slow_bodies_are_ended_and_hold_up_nobody(hub: ServedHub) -> None:
    head = (
        b"POST /api/v1/auth_challenge/generate HTTP/1.1\r\nHost: hub\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    )
    with ExitStack() as stack, stranger(hub, "127.0.0.38") as other:
        slow = [stack.enter_context(connect(hub, "127.0.0.37")) for _ in range(60)]
        for each in slow:
            each.sendall(head)
        began = time.monotonic()
        while time.monotonic() - began < 3 * SLOW_SECONDS:
            for each in slow:
                with suppress(OSError):
                    each.send(b" ")
            assert other.get("/healthz").status_code == 200
            if all(has_answer(each) for each in slow):
                break
            time.sleep(0.2)
        assert {each.recv(12) for each in slow} == {b"HTTP/1.1 408"}


def test_slow_readers_are_ended_and_hold_up_nobody(hub: ServedHub) -> None:
    with hub.client() as admin, stranger(hub, "127.0.0.40") as other:
        push = Push(admin, name="large", code="#" * 16_000_000, visibility="PUBLIC").run()
        url = data(admin.get(f"{HUB}/admin/large/@latest"))["wheel_url"]
        ask = f"GET {url.removeprefix(hub.url)} HTTP/1.1\r\nHost: hub\r\n".encode()
        with ExitStack() as stack:
            whole, parts = (
                [stack.enter_context(connect(hub, "127.0.0.39")) for _ in range(10)]
                for _ in range(2)
            )
            for each in whole:
                each.sendall(ask + b"\r\n")
            for each in parts:
                each.sendall(ask + b"Range: bytes=1-\r\n\r\n")
            began = time.monotonic()
            while time.monotonic() - began < 2 * SLOW_SECONDS:
                for each in whole + parts:
                    with suppress(OSError):
                        each.recv(1)
                time.sleep(0.5)
            assert other.get(url).content == push.wheel
            for each in whole + parts:
                assert rest_of(each) < len(push.wheel) // 2
    told = hub.err.read_text(encoding="utf-8")
    assert f"Ended answers that were read slower than 32 KiB in {SLOW_SECONDS} s: " in told


def connect(hub: ServedHub, address: str) -> socket.socket:
    """A connection with little room for what it is sent."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(10)
    made.bind((address, 0))
    host, _, port = hub.url.removeprefix("http://").partition(":")
    made.connect((host, int(port)))
    return made


def has_answer(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


def rest_of(connection: socket.socket) -> int:
    """How many bytes come until the connection ends; it has to."""
    size = 0
    with suppress(ConnectionError):
        while found := connection.recv(65536):
            size += len(found)
    return size


# --- Writers ---


def test_writers_that_wait_too_long_are_put_off_and_readers_are_not(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub, ExitStack() as stack:
        clients = [stack.enter_context(hub.client()) for _ in range(6)]
        Push(clients[0], visibility="PUBLIC").run()
        star = f"{HUB}/admin/word/star"
        holder = stack.enter_context(closing(sqlite3.connect(tmp_path / "hub" / "hub.db")))
        holder.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(len(clients)) as pool:
            asked = [pool.submit(client.put, star) for client in clients]
            time.sleep(1)
            with hub.client("") as reader:
                began = time.monotonic()
                assert reader.get(f"{HUB}/admin/word/@latest").status_code == 200
                assert time.monotonic() - began < 2
            wait(asked, timeout=20, return_when=FIRST_COMPLETED)
            holder.rollback()
            answers = [each.result() for each in asked]
    # The first waits for the other process's writer, those behind it for the first.
    put_off = [answer for answer in answers if answer.status_code == 503]
    assert {answer.status_code for answer in answers} == {200, 503}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in put_off)
