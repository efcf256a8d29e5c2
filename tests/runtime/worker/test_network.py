from pathlib import Path
from typing import Any

import pytest

from prime_cli.runtime.worker.network import is_loopback, peer_of
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import run_worker, small_spec


@pytest.mark.parametrize(
    ("event", "args", "peer"),
    [
        ("socket.connect", (None, ("192.0.2.1", 443)), ("192.0.2.1", 443)),
        ("socket.connect", (None, ("2001:db8::1", 80, 0, 0)), ("2001:db8::1", 80)),
        ("socket.connect", (None, "/run/some.sock"), None),
        ("socket.sendto", (None, ("192.0.2.1", 53)), ("192.0.2.1", 53)),
        ("socket.getaddrinfo", ("example.org.", "443", 0, 0, 0), ("example.org", 443)),
        ("socket.getaddrinfo", (b"example.org", None, 0, 0, 0), ("example.org", None)),
        ("socket.getaddrinfo", (None, 80, 0, 0, 0), None),
        ("socket.gethostbyname", ("example.org",), ("example.org", None)),
        ("socket.bind", (None, ("0.0.0.0", 80)), None),
    ],
)
def test_audit_events_name_the_host_that_is_asked_for(
    event: str, args: tuple[Any, ...], peer: tuple[str, int | None] | None
) -> None:
    assert peer_of(event, args) == peer


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "a.localhost"])
def test_addresses_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", "localhost.example.org", "fe80::1%1"])
def test_other_addresses_are_not(host: str) -> None:
    assert not is_loopback(host)


def test_hosts_are_told_once_for_loading_and_once_for_rollouts(
    model: ScriptedModel, log: Path
) -> None:
    said = run_worker(small_spec(model, "calls_out", watch_network=True), log)
    assert said.asked == [("load", "load.invalid"), ("rollout", "rollout.invalid")]


def test_nothing_is_watched_unless_it_is_asked_for(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, "calls_out"), log)
    assert said.ended.ok
    assert said.asked == []
