from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.progress import Silent
from prime_cli.evals.execution.worker_setup import namespace_for
from prime_cli.runs.connections import Connection, Connections, refused, uncounted
from prime_cli.runtime.protocol import Network
from tests.evals.live import PLAN


def heard(*events: Network) -> tuple[Connection, ...]:
    connections = Connections()
    for event in events:
        connections.hear(event)
    return connections.with_earlier((), str)


def asked(host: str, **fields: Any) -> Network:
    return Network(**{"phase": "rollout", "host": host, "port": 443, **fields})


def test_hosts_are_named_once_and_servers_of_this_machine_by_their_port() -> None:
    found = heard(asked("api.example.com"), asked("api.example.com"), asked("localhost", port=8001))
    assert uncounted(found) == ("api.example.com", "localhost:8001")
    assert refused(found) == ()


def test_a_proxy_is_named_as_one_since_nobody_knows_what_is_behind() -> None:
    found = heard(asked("localhost", port=3128, proxy=True), asked("p.example", proxy=True))
    assert uncounted(found) == ("the proxy localhost:3128", "the proxy p.example")


def test_files_and_what_was_refused_or_came_before_the_rollouts_cost_nothing() -> None:
    found = heard(
        asked("huggingface.co"),
        asked("cdn-lfs.hf.co"),
        asked("api.example.com", phase="load"),
        asked("judge.example", refused=True),
    )
    assert uncounted(found) == ()
    assert refused(found) == ("judge.example",)
    assert len(found) == 4


def test_inference_of_a_host_of_files_is_told() -> None:
    assert uncounted(heard(asked("router.huggingface.co"))) == ("router.huggingface.co",)


def test_sessions_add_up_and_secrets_are_taken_out() -> None:
    earlier = (Connection("api.example.com", 443), Connection("other.example", 443))
    connections = Connections()
    connections.hear(asked("api.example.com"))
    connections.hear(asked("secret.example"))
    found = connections.with_earlier(earlier, lambda text: text.replace("secret", "[KEY]"))
    assert uncounted(found) == ("api.example.com", "other.example", "[KEY].example")


def test_code_that_says_hosts_without_end_fills_no_memory() -> None:
    found = heard(*(asked(f"{n}.example" + "x" * 1000) for n in range(1000)))
    assert len(found) == 100
    assert max(len(each.host) for each in found) < 260


def test_without_bubblewrap_the_user_is_told_what_is_not_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    progress = Silent()
    plan = msgspec.structs.replace(PLAN, only_gateway=True)
    assert namespace_for(plan, progress) is None
    (said,) = progress.warned
    assert "programs that the environment starts, and libraries in C" in said
    assert namespace_for(PLAN, progress) is None
    assert len(progress.warned) == 1
