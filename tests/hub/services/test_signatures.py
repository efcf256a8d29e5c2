"""Signatures beside versions: kept as they came, counted, and of one wheel only."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.hub.services.version_documents import MOST_SIGNATURE_BYTES
from prime_cli.wire.codec import Envelope, decode, to_builtins
from prime_cli.wire.locks import LONGEST_SIGNATURE, MOST_SIGNATURES, Signature, Signatures
from tests.hub.pushing import HUB, Push, data, open_app, sha256

ADDRESS = f"{HUB}/ada/word/@0.1.0/signatures"
ARMOUR = "-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\n"
SSH = Signature("ssh", ARMOUR)
ATTESTATION = Signature("pep740", '{"version": 1}')


def put(client: httpx.Client, wheel: bytes, *signatures: Signature) -> httpx.Response:
    return client.put(ADDRESS, json=to_builtins(Signatures(sha256(wheel), signatures)))


def test_signatures_are_kept_as_they_came_and_counted(client: httpx.Client) -> None:
    push = Push(client).run()
    assert "signatures" not in data(client.get(f"{HUB}/ada/word/@latest"))
    data(put(client, push.wheel, SSH, ATTESTATION))
    answer = client.get(ADDRESS).raise_for_status()
    kept = decode(answer.content, Envelope[Signatures]).data
    assert kept == Signatures(sha256(push.wheel), (SSH, ATTESTATION))
    assert data(client.get(f"{HUB}/ada/word/@latest"))["signatures"] == 2


def test_later_ones_take_their_place_and_none_take_them_away(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put(client, push.wheel, SSH, ATTESTATION))
    data(put(client, push.wheel, SSH))
    assert len(data(client.get(ADDRESS))["signatures"]) == 1
    data(put(client, push.wheel))
    assert client.get(ADDRESS).status_code == 404


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("ssh", "U1NI"),
        ("ssh", ARMOUR.replace("U1NI", "Ü")),
        ("ssh", f"{ARMOUR}more"),
        ("pep740", "not json"),
        ("pep740", "[]"),
        ("pep740", "[" * 30_000),
        ("pgp", ARMOUR),
        ("ssh", ""),
        ("ssh", "x" * (LONGEST_SIGNATURE + 1)),
    ],
)
def test_what_is_no_signature_is_refused(client: httpx.Client, kind: Any, body: str) -> None:
    push = Push(client).run()
    answer = put(client, push.wheel, Signature(kind, body))
    assert answer.status_code in {400, 422}
    assert client.get(ADDRESS).status_code == 404


def test_too_many_or_too_long_ones_are_refused(client: httpx.Client) -> None:
    push = Push(client).run()
    assert put(client, push.wheel, *[SSH] * (MOST_SIGNATURES + 1)).status_code in {400, 422}
    long = client.put(ADDRESS, content=b" " * (MOST_SIGNATURE_BYTES + 1))
    assert long.status_code == 413


def test_those_of_another_wheel_are_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put(client, b"another wheel", SSH)
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_only_who_may_publish_may_sign(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put(open_app(folder, "eve"), push.wheel, SSH).status_code == 403


def test_signatures_go_with_their_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put(client, push.wheel, SSH))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(ADDRESS).status_code == 404


def test_hub_says_that_it_keeps_them_and_each_wheels_sha256(client: httpx.Client) -> None:
    assert "signatures" in client.get("/api/v1/capabilities").json()["features"]
    push = Push(client).run()
    (row,) = data(client.get(f"{HUB}/ada/word/versions"))["versions"]
    assert row["wheel_sha256"] == sha256(push.wheel)
