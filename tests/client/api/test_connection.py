"""Failures, repeats, redirects, and where the key may go."""

import hashlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.client.api.single_requests import probe
from prime_cli.client.api.transports import OfflineTransport
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import (
    Conflict,
    IntegrityError,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    Offline,
    PrimeError,
    Unreachable,
    UsageError,
)
from prime_cli.core.network import PROXIES
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.wire.environments import ResolveRequest
from prime_cli.wire.locks import Lock
from prime_cli.wire.version_documents import LOCK
from tests.helpers.hubs import publish
from tests.helpers.replay import Replay, Turns, broken, redirect, refusal
from tests.helpers.scripted_hub import ScriptedHub
from tests.helpers.served import served_hub
from tests.helpers.socks import SocksProxy

WHOAMI = "GET /api/v1/user/whoami"
ADA = {"data": {"id": "user_1", "slug": "ada"}}


class Waits(list[float]):
    """A clock that only takes notes."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def _hub(answers: dict[str, Any], **options: Any) -> tuple[HubClient, Replay, Waits]:
    replay, waits = Replay(answers), Waits()
    options = {"key": "k1", "sleep": waits, **options}
    return HubClient(replay.origin, transport=replay, outside=replay, **options), replay, waits


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, UsageError),
        (401, NotLoggedIn),
        (402, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (422, UsageError),
        (500, Unreachable),
    ],
)
def test_a_status_becomes_the_error_of_its_kind(status: int, expected: type[PrimeError]) -> None:
    hub, _, _ = _hub({WHOAMI: refusal(status, "because")})
    with pytest.raises(expected, match=r"^because$") as caught:
        hub.accounts.whoami()
    assert type(caught.value) is expected


def test_our_own_hub_names_the_error_class_itself() -> None:
    body = {"detail": "no room", "code": "storage_failed", "hint": "free some"}
    hub, _, _ = _hub({WHOAMI: lambda _: httpx.Response(507, json=body)})
    with pytest.raises(PrimeError) as caught:
        hub.accounts.whoami()
    assert (caught.value.code, caught.value.hint) == ("storage_failed", "free some")


def test_field_errors_are_reported_in_one_line() -> None:
    detail = [
        {"loc": ["body", "name"], "msg": "field required"},
        {"loc": ["query", "limit"], "msg": "too large"},
    ]
    hub, _, _ = _hub({WHOAMI: refusal(422, detail)})
    with pytest.raises(UsageError, match=r"^name: field required; query\.limit: too large$"):
        hub.accounts.whoami()


def test_field_errors_of_the_published_form_are_reported_in_one_line() -> None:
    errors = [
        {"param": "pod.gpuCount", "details": "must be above 0"},
        {"param": "request", "details": "too late"},
        {"param": None, "details": None},
        7,
    ]
    hub, _, _ = _hub({WHOAMI: lambda _: httpx.Response(422, json={"errors": errors})})
    told = r"^pod\.gpuCount: must be above 0; too late; not valid; 7$"
    with pytest.raises(UsageError, match=told):
        hub.accounts.whoami()


@pytest.mark.parametrize(
    "body", [{}, {"errors": []}, {"errors": {}}, {"detail": [], "errors": None}, {"detail": 7}]
)
def test_a_refusal_that_says_nothing_is_reported_by_its_status(body: dict[str, object]) -> None:
    hub, _, _ = _hub({WHOAMI: lambda _: httpx.Response(422, json=body)})
    with pytest.raises(UsageError, match=r"answered 422 Unprocessable Entity$"):
        hub.accounts.whoami()


def test_a_missing_key_and_a_wrong_one_have_different_hints() -> None:
    answers = {WHOAMI: refusal(401, "Unauthorized")}
    with pytest.raises(NotLoggedIn) as caught:
        _hub(answers, key=None)[0].accounts.whoami()
    assert caught.value.hint == (
        "log in with `prime login`, or set PRIME_API_KEY to a key of https://hub.example"
    )
    with pytest.raises(NotLoggedIn) as caught:
        _hub(answers)[0].accounts.whoami()
    assert caught.value.hint == (
        "this was the key `k1…`; log in with `prime login`, or set PRIME_API_KEY to a key of "
        "https://hub.example"
    )


@pytest.mark.parametrize(
    "content", [b"<html>hello</html>", b"[]", b'{"data": {"slug": 3}}', b"\xff"]
)
def test_an_impossible_answer_is_not_from_a_hub(content: bytes) -> None:
    hub, _, _ = _hub({WHOAMI: content})
    with pytest.raises(Unreachable, match="did not respond like an environments hub"):
        hub.accounts.whoami()


def test_a_lost_connection_is_tried_again_and_then_reported() -> None:
    hub, replay, waits = _hub({WHOAMI: broken(httpx.ConnectError)})
    with pytest.raises(Unreachable, match=r"hub\.example cannot be reached"):
        hub.accounts.whoami()
    assert len(replay.seen) == 3
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_a_busy_hub_is_asked_again_when_it_says_so() -> None:
    busy = refusal(429, "slow down", headers={"retry-after": "7"})
    hub, replay, waits = _hub({WHOAMI: Turns(busy, refusal(503, "soon"), ADA)})
    assert hub.accounts.whoami().slug == "ada"
    assert len(replay.seen) == 3
    assert waits[0] == 7.0


def test_a_requested_wait_is_capped() -> None:
    busy = refusal(429, "slow down", headers={"retry-after": "3600"})
    hub, replay, waits = _hub({WHOAMI: busy})
    with pytest.raises(Unreachable, match="slow down"):
        hub.accounts.whoami()
    assert (len(replay.seen), waits) == (1, [])


def test_what_may_have_been_done_is_not_done_twice() -> None:
    path = "/api/v1/environmentshub/ada/x"
    hub, replay, _ = _hub({f"DELETE {path}": broken(httpx.ReadError)})
    with pytest.raises(Unreachable, match="cannot be reached"):
        hub.environments.delete(EnvRef("ada", "x"))
    assert len(replay.seen) == 1


def test_a_hub_that_lets_time_run_out_is_not_waited_for_again() -> None:
    hub, replay, _ = _hub({WHOAMI: broken(httpx.ReadTimeout)})
    with pytest.raises(Unreachable, match="did not answer in time"):
        hub.accounts.whoami()
    assert len(replay.seen) == 1


def test_resolving_a_name_may_be_repeated() -> None:
    reply = {"id": "e", "name": "x", "owner": {"name": "ada"}, "visibility": "P", "created": True}
    path = "POST /api/v1/environmentshub/resolve"
    hub, _, _ = _hub({path: Turns(broken(httpx.ReadError), {"data": reply})})
    assert hub.environments.resolve(ResolveRequest(name="x")).id == "e"


def _download(hub: HubClient, url: str, folder: Path, sha256: str | None = None) -> Path:
    target = folder / "x-1-py3-none-any.whl"
    hub.environments.download(url, target, sha256=sha256, progress=Silent())
    return target


def test_the_key_follows_a_redirect_only_to_the_hub_itself(tmp_path: Path) -> None:
    hub, replay, _ = _hub(
        {
            "GET /a": redirect("/b"),
            "GET /b": redirect("https://storage.example/c"),
            "GET https://storage.example/c": redirect("https://hub.example/d"),
            "GET /d": b"wheel",
        }
    )
    assert _download(hub, "https://hub.example/a", tmp_path).read_bytes() == b"wheel"
    assert [each.key for each in replay.seen] == ["Bearer k1", "Bearer k1", None, "Bearer k1"]


ELSEWHERE = (
    "https://other.example/w",
    "http://hub.example/w",
    "https://hub.example:8443/w",
    "https://hub.example.evil.example/w",
)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_download_from_elsewhere_goes_without_the_key(tmp_path: Path, elsewhere: str) -> None:
    hub, replay, _ = _hub({f"GET {elsewhere}": b"wheel"})
    _download(hub, elsewhere, tmp_path)
    assert [each.key for each in replay.seen] == [None]


def test_an_upload_never_carries_the_key_not_even_to_the_hub(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"bytes")
    hub, replay, _ = _hub({"PUT /upload/1": b""})
    hub.uploads.send("https://hub.example/upload/1", file, Silent())
    assert [(each.key, each.content) for each in replay.seen] == [(None, b"bytes")]


RESOLVE = "POST /api/v1/environmentshub/resolve"
RESOLVED = {
    "data": {"id": "e", "name": "x", "owner": {"name": "ada"}, "visibility": "P", "created": True}
}


@pytest.mark.parametrize("status", [307, 308])
def test_a_post_follows_the_hub_to_another_of_its_addresses_with_key_and_body(status: int) -> None:
    hub, replay, _ = _hub({RESOLVE: redirect("/moved?a=1", status), "POST /moved?a=1": RESOLVED})
    assert hub.environments.resolve(ResolveRequest(name="x")).id == "e"
    assert [each.method for each in replay.seen] == ["POST", "POST"]
    assert {each.key for each in replay.seen} == {"Bearer k1"}
    assert replay.seen[0].content == replay.seen[1].content != b""
    assert replay.seen[1].headers["content-type"] == "application/json"


def test_a_delete_follows_the_hub_too() -> None:
    path = "DELETE /api/v1/ssh_keys/k"
    hub, replay, _ = _hub({path: redirect("https://hub.example:443/moved"), "DELETE /moved": {}})
    hub.ssh_keys.remove("k")
    assert [each.content for each in replay.seen] == [b"", b""]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        *((307, elsewhere) for elsewhere in ELSEWHERE),
        *((status, "/moved") for status in (301, 302, 303)),
    ],
)
def test_a_post_is_sent_to_no_other_origin_and_becomes_no_other_method(
    status: int, location: str
) -> None:
    hub, replay, _ = _hub({RESOLVE: redirect(location, status)})
    with pytest.raises(Unreachable, match="redirected the request to"):
        hub.environments.resolve(ResolveRequest(name="x"))
    assert len(replay.seen) == 1


def test_a_streamed_upload_is_not_sent_on(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"bytes")
    sent: list[bytes] = []

    class Storage(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            assert isinstance(request.stream, httpx.SyncByteStream)
            sent.append(b"".join(request.stream))
            return redirect("/upload/2")(request)

    hub = HubClient("https://hub.example", key="k1", transport=Storage())
    with pytest.raises(Unreachable, match=r"redirected the request to .*/upload/2"):
        hub.uploads.send("https://hub.example/upload/1", file, Silent())
    assert sent == [b"bytes"]


def test_redirects_end(tmp_path: Path) -> None:
    hub, _, _ = _hub({"GET /a": redirect("/a")})
    with pytest.raises(Unreachable, match="redirects too many times"):
        _download(hub, "https://hub.example/a", tmp_path)


@pytest.mark.parametrize(
    "url", ["/files/w", "ftp://hub.example/w", "https://hub.example:x/", "file:///etc/x"]
)
def test_an_invalid_address_is_refused_before_anything_is_sent(tmp_path: Path, url: str) -> None:
    hub, replay, _ = _hub({})
    with pytest.raises(Unreachable, match="URL"):
        _download(hub, url, tmp_path)
    assert replay.seen == []


def test_a_download_with_the_promised_digest_is_kept_whole(tmp_path: Path) -> None:
    content = b"wheel" * 50_000
    hub, _, _ = _hub({"GET /w": content})
    digest = hashlib.sha256(content).hexdigest()
    path = _download(hub, "https://hub.example/w", tmp_path, digest.upper())
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_download_with_another_digest_leaves_nothing_behind(tmp_path: Path) -> None:
    hub, _, _ = _hub({"GET /w": b"not what as declared"})
    with pytest.raises(IntegrityError, match="as declared"):
        _download(hub, "https://hub.example/w", tmp_path, "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_ends_early_leaves_nothing_behind(tmp_path: Path) -> None:
    short = httpx.Response(200, headers={"content-length": "100"}, stream=httpx.ByteStream(b"x"))
    hub, _, _ = _hub({"GET /w": lambda _: short})
    with pytest.raises(IntegrityError, match="ended after 1 of 100 bytes"):
        _download(hub, "https://hub.example/w", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_download_replaces_no_older_file(tmp_path: Path) -> None:
    kept = tmp_path / "x-1-py3-none-any.whl"
    kept.write_bytes(b"old")
    hub, _, _ = _hub({"GET /w": b"new"})
    with pytest.raises(IntegrityError):
        _download(hub, "https://hub.example/w", tmp_path, "0" * 64)
    assert kept.read_bytes() == b"old"


def test_offline_refuses_before_any_name_is_looked_up() -> None:
    hub = HubClient("https://no-such-host.invalid", transport=OfflineTransport())
    with pytest.raises(Offline, match=r"no-such-host\.invalid was not contacted"):
        hub.accounts.whoami()


TINY = EnvRef("ada", "tiny-env", "0.1.0")


def test_publish_read_download_lock_and_delete(tmp_path: Path) -> None:
    with served_hub(tmp_path / "hub") as url:
        hub = HubClient(url, key="k1")
        assert publish(hub, tmp_path) == TINY
        assert hub.accounts.whoami().slug == "ada"
        assert "locks" in hub.capabilities().features
        detail = hub.environments.get(TINY)
        assert detail.wheel_url is not None
        assert detail.wheel_url.startswith(url)
        target = tmp_path / "down" / "w.whl"
        hub.environments.download(
            detail.wheel_url, target, sha256=detail.wheel_sha256, progress=Silent()
        )
        assert digest_file(target) == detail.wheel_sha256
        lock = Lock(1, digest_file(target), "0.1.14", "v0", "3.11", "date", packages=())
        assert hub.documents.get(TINY, LOCK) is None
        hub.documents.put(TINY, LOCK, lock)
        assert hub.documents.get(TINY, LOCK) == lock
        hub.environments.delete(TINY)
        with pytest.raises(NotFound):
            hub.environments.get(TINY)
        hub.close()


def test_a_port_without_a_listener_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    hub = HubClient(f"http://127.0.0.1:{port}", attempts=1)
    with pytest.raises(Unreachable, match=rf"127\.0\.0\.1:{port} cannot be reached"):
        hub.accounts.whoami()
    hub.close()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SSL_CERT_FILE", "/nowhere.pem", r"SSL_CERT_FILE \(/nowhere\.pem\) cannot be read"),
        ("SSL_CERT_DIR", "/nowhere", r"SSL_CERT_DIR \(/nowhere\) is not a folder"),
        ("ALL_PROXY", "gopher://a:1", "ALL_PROXY is not a proxy URL"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=sentence):
        HubClient("https://hub.example.org").accounts.whoami()


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/nowhere.pem"), ("ALL_PROXY", "socks5://127.0.0.1:1")]
)
def test_a_hub_on_this_machine_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with ScriptedHub() as scripted:
        scripted.answer("GET /user/whoami", {"data": {"id": "user_1", "slug": "ada"}})
        assert HubClient(scripted.url).accounts.whoami().slug == "ada"


def test_a_hub_is_reached_through_a_socks_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedHub() as scripted, SocksProxy(scripted.port) as proxy:
        scripted.answer("GET /user/whoami", {"data": {"id": "user_1", "slug": "ada"}})
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert HubClient("http://hub.example.org").accounts.whoami().slug == "ada"
    assert proxy.asked == ["hub.example.org:80"]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "ask", [lambda hub: hub.accounts.whoami(), lambda hub: probe(hub.base_url, seconds=5.0)]
)
def test_a_dead_proxy_is_named_with_its_variable(
    scheme: str, ask: Callable[[HubClient], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*PROXIES, "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://ada:secret@127.0.0.1:1")
    with pytest.raises(Unreachable) as caught:
        ask(HubClient("https://hub.example", key="k", sleep=Waits()))
    assert caught.value.message == (
        f"The proxy {scheme}://127.0.0.1:1 cannot be used to call hub.example: Connection refused"
    )
    assert "correct ALL_PROXY" in (caught.value.hint or "")
