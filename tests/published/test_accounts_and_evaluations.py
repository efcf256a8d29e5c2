"""What our hub answers at the published addresses of evaluations, secrets, users and teams."""

from pathlib import Path
from typing import Any

import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.pushing import Push
from tests.published.held import Held
from tests.published.notation import HUB, published


@pytest.fixture
def accounts_hub(tmp_path: Path) -> AccountsHub:
    return AccountsHub(tmp_path / "hub")


@pytest.fixture
def held(accounts_hub: AccountsHub) -> Held:
    client = accounts_hub.user("ada")
    Push(client).run()
    return Held(client)


def evaluate(held: Held) -> str:
    """The id of a finished evaluation."""
    body = {
        "name": "a run",
        "environments": [{"id": "ada/word"}],
        "model_name": "tiny",
        "metadata": {"n": 1},
        "metrics": {"accuracy": 0.5},
    }
    one = str(held.ask("POST", "/evaluations/", body)["evaluation_id"])
    held.ask("GET", f"/evaluations/{one}")
    samples = [{"example_id": number, "reward": 0.5 * number} for number in range(3)]
    held.ask("POST", f"/evaluations/{one}/samples", {"samples": samples})
    held.ask("POST", f"/evaluations/{one}/finalize", {"metrics": {"accuracy": 1.0}})
    return one


def test_evaluations_answer_as_published(held: Held) -> None:
    one, other = evaluate(held), evaluate(held)
    held.ask("GET", f"/evaluations/{one}")
    held.ask("GET", f"/evaluations/{one}/samples?page=1&limit=2")
    held.ask("PUT", f"/evaluations/{one}", {"name": "another", "tags": ["x"], "is_public": False})
    held.ask("GET", "/evaluations/?skip=0&limit=1")
    held.ask("GET", f"/hosted-evaluations/{one}/logs")
    held.ask("DELETE", f"/evaluations/{one}")
    held.ask("POST", "/evaluations/bulk-delete", {"evaluation_ids": [other, one]})
    every = {f"{each.method} {each.path}" for each in published(HUB).addresses}
    assert held.seen == {each for each in every if "evaluations" in each}


def test_secrets_answer_as_published(held: Held) -> None:
    new = {"name": "JUDGE_KEY", "value": "hidden", "isFile": False}
    one = held.ask("POST", "/secrets/", new)["data"]["id"]
    held.ask("GET", "/secrets/?offset=0&limit=1")
    held.ask("GET", f"/secrets/{one}")
    held.ask("PATCH", f"/secrets/{one}", {"description": "of the judge"})
    held.ask("GET", f"/secrets/{one}")
    held.ask("DELETE", f"/secrets/{one}")
    every = {f"{each.method} {each.path}" for each in published(HUB).addresses}
    assert held.seen == {each for each in every if "/secrets" in each}


def test_users_and_teams_answer_as_published(accounts_hub: AccountsHub, held: Held) -> None:
    team = accounts_hub.team("lab", ada="ADMIN")
    held.ask("GET", "/user/whoami")
    held.ask("GET", "/user/teams?offset=0&limit=10")
    held.ask("GET", f"/teams/{team}/members?offset=0&limit=10")
    held.ask("PATCH", "/user/slug", {"slug": "ada-l"})
    every = {f"{each.method} {each.path}" for each in published(HUB).addresses}
    assert held.seen == {each for each in every if each.split("/")[1] in ("user", "teams")}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/evaluations/", {}),
        ("POST", "/evaluations/", {"name": 1}),
        ("GET", "/evaluations/?limit=0", None),
        ("POST", "/evaluations/bulk-delete", {}),
        ("POST", "/secrets/", {"name": "A"}),
        ("GET", "/secrets/?limit=many", None),
        ("PATCH", "/user/slug", {}),
        ("GET", "/user/teams?offset=-1", None),
    ],
)
def test_what_cannot_be_is_refused_as_published(
    held: Held, method: str, path: str, body: Any
) -> None:
    held.ask(method, path, body, status=422)
