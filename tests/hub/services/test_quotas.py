"""Quotas of users and teams, and what is refused above them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from prime_cli.core.errors import NotAllowed, NotFound, RateLimited, UsageError
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.quotas import list_quotas, set_quota
from prime_cli.hub.services.usage import add_usage, require_budget
from prime_cli.models.prices import Spend, TokenUsage
from prime_cli.wire.quotas import UNLIMITED, Amounts, NewQuota, Quota
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data
from tests.hub.services.compute.conftest import pod_hub
from tests.hub.services.compute.renting import API, PodHub, wish

__all__ = ["pod_hub"]


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> httpx.Client:
    return accounts_hub.user("ada")


def limit(hub: AccountsHub, owner: str | None = None, **amounts: Any) -> Quota:
    return set_quota(hub.hub, OPERATOR, NewQuota(owner=owner, **amounts))


def quota_of(hub: AccountsHub, owner: str | None) -> Quota:
    found = list_quotas(hub.hub, OPERATOR).quotas
    return next(each for each in found if each.owner == owner)


def size(push: Push) -> int:
    return len(push.wheel) + len(push.sources)


def ready(client: httpx.Client, **what: Any) -> tuple[Push, str]:
    """A push that lacks only its last step, and the id of its version."""
    push = Push(client, **what)
    push.begin()
    push.push_wheel()
    return push, push.push_sources()


def test_a_push_above_the_quota_is_refused_with_what_is_used(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    first = Push(ada).run()
    limit(accounts_hub, storage=size(first))
    assert quota_of(accounts_hub, "ada").used.storage == size(first)
    second = Push(ada, version="0.2.0", environment_id=first.environment_id)
    refused = second.declare_wheel()
    assert refused.status_code == 403
    used = f"{size(first)} B"
    assert refused.json()["detail"].startswith(f"`ada` uses {used} of {used} on this hub")
    limit(accounts_hub, "ada", storage=UNLIMITED)
    second.run()
    bob = accounts_hub.user("bob")
    limit(accounts_hub, storage=0)
    assert bob.post(f"{HUB}/ada/word/fork", json={}).status_code == 403
    limit(accounts_hub, "bob", storage=10**6)
    data(bob.post(f"{HUB}/ada/word/fork", json={}))


def test_what_is_deleted_makes_room(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    first = Push(ada).run()
    limit(accounts_hub, storage=size(first) + 10)
    second = Push(ada, version="0.2.0")
    second.begin()
    assert second.declare_wheel().status_code == 403
    ada.delete(f"{HUB}/ada/word/@{first.content_hash}").raise_for_status()
    second.run()


def test_pushes_at_once_do_not_exceed_it_together(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    each = [ready(ada, version=f"0.{number}.0") for number in range(1, 6)]
    limit(accounts_hub, storage=sum(size(push) for push, _ in each[:2]) + 20)

    def end(one: tuple[Push, str]) -> int:
        push, version_id = one
        return push.finalize("versions", version_id).status_code

    with ThreadPoolExecutor(5) as pool:
        codes = list(pool.map(end, each))
    assert sorted(codes) == [200, 200, 403, 403, 403]
    found = quota_of(accounts_hub, "ada")
    assert found.used.storage is not None
    assert found.limits.storage is not None
    assert found.used.storage <= found.limits.storage


def test_pods_above_the_quota_are_refused_to_a_user_and_a_team(pod_hub: PodHub) -> None:
    hub = pod_hub.accounts_hub
    team = hub.team("lab", ada="ADMIN")
    limit(hub, pods=1)
    first = pod_hub.rent()
    refused = pod_hub.ada.post(f"{API}/pods", json=wish())
    assert refused.status_code == 403
    assert refused.json()["detail"] == "`ada` has 1 pod, and this hub allows 1"
    assert len(pod_hub.machines.started) == 1
    for_team = wish() | {"team": {"teamId": team}}
    pod_hub.ada.post(f"{API}/pods", json=for_team).raise_for_status()
    again = pod_hub.ada.post(f"{API}/pods", json=for_team)
    assert "`lab` has 1 pod" in again.json()["detail"]
    limit(hub, "lab", pods=2)
    pod_hub.ada.post(f"{API}/pods", json=for_team).raise_for_status()
    pod_hub.ada.delete(f"{API}/pods/{first['id']}").raise_for_status()
    pod_hub.rent()
    assert quota_of(hub, "lab").used.pods == 2


def test_tokens_above_the_quota_are_refused(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    require_budget(accounts_hub.hub, "ada")
    add_usage(accounts_hub.hub, "ada", "small", Spend(TokenUsage(calls=1, input=10, output=5)))
    limit(accounts_hub, tokens=15)
    with pytest.raises(RateLimited, match="has used 15 tokens this month, and this hub allows 15"):
        require_budget(accounts_hub.hub, "ada")
    limit(accounts_hub, "ada", tokens=16)
    require_budget(accounts_hub.hub, "ada")
    limit(accounts_hub, "ada", reset=["tokens"])
    with pytest.raises(RateLimited):
        require_budget(accounts_hub.hub, "ada")


def test_quotas_are_inherited_listed_and_recorded(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    limit(accounts_hub, storage=1000, pods=2)
    assert limit(accounts_hub, "ada", pods=UNLIMITED) == Quota(
        "ada", Amounts(1000, None, None), Amounts(0, 0, 0, 0), ["pods"]
    )
    assert limit(accounts_hub, "ada", storage=5).own == ["storage", "pods"]
    assert limit(accounts_hub, "ada", reset=["pods"]).limits == Amounts(5, 2, None)
    assert quota_of(accounts_hub, None).limits == Amounts(1000, 2, None)
    entry, *_ = list_entries(accounts_hub.hub, action="quota.set")
    assert (entry.actor, entry.target, entry.detail) == ("cli", "ada", {"pods": None})


def test_only_an_admin_sets_quotas_and_only_good_ones(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    caller = accounts_hub.caller(accounts_hub.key("ada", scope="admin"))
    with pytest.raises(NotAllowed):
        set_quota(accounts_hub.hub, caller, NewQuota(pods=9))
    with pytest.raises(NotAllowed):
        list_quotas(accounts_hub.hub, caller)
    with pytest.raises(NotFound):
        limit(accounts_hub, "nobody", pods=1)
    for wrong in ({}, {"pods": -2}, {"storage": 2**63}, {"reset": ["disks"]}):
        with pytest.raises(UsageError):
            limit(accounts_hub, **wrong)


def test_users_see_what_they_and_their_teams_may_have_alone(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    bob = accounts_hub.user("bob")
    accounts_hub.team("lab", ada="admin")
    push = Push(ada).run()
    limit(accounts_hub, storage=10**9)
    limit(accounts_hub, "lab", pods=3)
    assert [each["owner"] for each in data(bob.get(f"{API}/user/quotas"))["quotas"]] == ["bob"]
    mine, team = data(ada.get(f"{API}/user/quotas"))["quotas"]
    assert (mine["owner"], mine["limits"]["storage"], mine["own"]) == ("ada", 10**9, [])
    assert (mine["used"]["storage"], mine["used"]["pods"]) == (size(push), 0)
    assert (team["owner"], team["limits"]["pods"], team["own"]) == ("lab", 3, ["pods"])
