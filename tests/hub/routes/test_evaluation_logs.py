"""What a run printed, kept beside its evaluation and read by whoever sees that."""

import httpx
import pytest

from prime_cli.wire.evaluations import LOGS_FEATURE, MOST_LOG_BYTES
from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import EVALUATIONS, change, made
from tests.hub.pushing import Push


@pytest.fixture
def evaluation(client: httpx.Client) -> str:
    """One of `ada/word`."""
    Push(client).run()
    return made(client)


def logs_of(evaluation: str) -> str:
    return f"/api/v1/hosted-evaluations/{evaluation}/logs"


def test_log_is_kept_and_replaced(client: httpx.Client, evaluation: str) -> None:
    assert LOGS_FEATURE in client.get("/api/v1/capabilities").json()["features"]
    assert client.get(logs_of(evaluation)).json() == {"logs": "", "evaluation_id": evaluation}
    for text in ("first\n", "then ü\0\n"):
        assert client.put(logs_of(evaluation), json={"logs": text}).status_code == 200
    assert client.get(logs_of(evaluation)).json()["logs"] == "then ü\ufffd\n"


def test_log_that_is_too_long_is_refused(client: httpx.Client, evaluation: str) -> None:
    longest = "ü" * (MOST_LOG_BYTES // 2)
    assert client.put(logs_of(evaluation), json={"logs": longest}).status_code == 200
    assert client.put(logs_of(evaluation), json={"logs": longest + "x"}).status_code == 413


def test_log_goes_with_its_evaluation(client: httpx.Client, evaluation: str) -> None:
    client.put(logs_of(evaluation), json={"logs": "text"})
    assert client.delete(f"{EVALUATIONS}/{evaluation}").status_code == 200
    assert client.get(logs_of(evaluation)).status_code == 404


def test_log_is_seen_with_its_evaluation_and_written_by_its_owner(
    accounts_hub: AccountsHub,
) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada).run()
    evaluation = made(ada)
    assert ada.put(logs_of(evaluation), json={"logs": "text"}).status_code == 200
    assert eve.get(logs_of(evaluation)).status_code == 404
    assert eve.put(logs_of(evaluation), json={"logs": "other"}).status_code == 404
    change(ada, evaluation, is_public=True)
    for reader in (eve, accounts_hub.client()):
        assert reader.get(logs_of(evaluation)).json()["logs"] == "text"
    assert eve.put(logs_of(evaluation), json={"logs": "other"}).status_code == 403
    assert accounts_hub.client().put(logs_of(evaluation), json={"logs": "other"}).status_code == 401
