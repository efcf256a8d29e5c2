"""`prime pods create` on a hub that says no more than the published API, or breaks off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.session import Session
from tests.helpers.cli import Prime
from tests.helpers.scripted_hub import Reply, ScriptedHub
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line

pytestmark = needs_ssh_keygen

A = ("--gpu-type", "a100")
OFFER: dict[str, Any] = {
    "cloudId": "gpu_1x_a100",
    "gpuType": "A100_80GB",
    "gpuCount": 1,
    "provider": "cloud",
    "images": ["ubuntu_22_cuda_12", "pytorch"],
    "prices": {"onDemand": 1.65, "currency": "USD"},
}
POD: dict[str, Any] = {"id": "p1", "gpuName": "A100_80GB", "gpuCount": 1, "name": "a100-1"}


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[ScriptedHub]:
    """A hub that knows the user's key and one offer."""
    key = make_key(home / ".ssh")
    with ScriptedHub() as hub:
        monkeypatch.setenv("PRIME_API_BASE_URL", hub.url)
        monkeypatch.setenv("PRIME_API_KEY", "prime_sk_1234567890")
        known = {"id": "k", "userId": "u", "name": "laptop", "publicKey": public_line(key)}
        hub.answer("GET /availability/gpus", {"items": [OFFER], "totalCount": 1})
        hub.answer("GET /availability/multi-node", {"items": [], "totalCount": 0})
        hub.answer("GET /pods/", {"data": [], "total_count": 0})
        hub.answer("GET /ssh_keys/", {"data": [known | {"isPrimary": True}], "total_count": 1})
        hub.answer("POST /pods/", POD)
        yield hub


@pytest.fixture
def prime(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Prime:
    """`prime` that reaches hubs through sockets."""
    return Prime(capfd, monkeypatch, Session)


def asked(hub: ScriptedHub) -> list[Any]:
    return [seen.body for seen in hub.seen if seen.call == "POST /pods/"]


def test_the_public_hub_is_sent_what_it_knows_and_the_lack_of_an_end_is_reported(
    public: ScriptedHub, prime: Prime
) -> None:
    shown = prime("pods", "create", *A, "--yes").ok()
    (body,) = asked(public)
    assert not {"stopAt", "nodes"} & body.keys()
    assert body["pod"]["image"] == "ubuntu_22_cuda_12"
    assert "only when you terminate it" in shown.err
    assert "$1.65 every hour" in shown.err


@pytest.mark.parametrize("words", [("--for", "2h"), ("--nodes", "2")])
def test_what_only_our_hubs_can_is_refused_for_others(
    words: tuple[str, ...], public: ScriptedHub, prime: Prime
) -> None:
    refused = prime("pods", "create", *A, *words, "--yes")
    assert refused.code == 2
    assert words[0] in refused.err
    assert asked(public) == []


def test_variables_go_to_images_that_take_them(public: ScriptedHub, prime: Prime) -> None:
    prime("pods", "create", *A, "--env", "A=1", "--yes").ok()
    (body,) = asked(public)
    assert body["pod"]["image"] == "pytorch"
    assert body["pod"]["envVars"] == [{"key": "A", "value": "1"}]


@pytest.mark.parametrize(
    "answer", [Reply(b"", headers={"content-encoding": "gzip"}), Reply({}, 502)]
)
def test_an_answer_that_is_lost_is_never_requested_again(
    answer: Reply, public: ScriptedHub, prime: Prime
) -> None:
    public.answers["POST /pods/"] = answer
    lost = prime("pods", "create", *A, "--yes")
    assert lost.code == 5
    assert len(asked(public)) == 1
    assert "the pod may have been created anyway" in " ".join(lost.err.split())
    assert "prime pods list" in lost.err


def test_a_connection_that_breaks_is_not_tried_again(public: ScriptedHub, prime: Prime) -> None:
    def hang_up(_: object) -> Reply:
        raise ConnectionAbortedError

    public.answers["POST /pods/"] = hang_up
    lost = prime("pods", "create", *A, "--yes")
    assert (lost.code, len(asked(public))) == (5, 1)
    assert "the pod may have been created anyway" in " ".join(lost.err.split())


def test_a_hub_without_keys_is_reported_and_still_used(public: ScriptedHub, prime: Prime) -> None:
    del public.answers["GET /ssh_keys/"]
    shown = prime("pods", "create", *A, "--yes").ok()
    assert "did not list your SSH keys" in shown.err
    assert len(asked(public)) == 1
