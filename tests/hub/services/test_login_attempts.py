import pytest

from prime_cli.core.errors import NotFound, RateLimited
from prime_cli.hub.services.logins import count_attempt, few_failures, network_of
from tests.hub.accounts_hub import AccountsHub


def fail(accounts_hub: AccountsHub, name: str) -> None:
    with few_failures(accounts_hub.hub, name, most=3):
        raise NotFound("No")


def test_attempts_are_counted_for_ten_minutes(accounts_hub: AccountsHub) -> None:
    for _ in range(3):
        count_attempt(accounts_hub.hub, "a", most=3)
    with pytest.raises(RateLimited, match="tried 3 times in 10 minutes") as caught:
        count_attempt(accounts_hub.hub, "a", most=3)
    assert "2026-11-21 12:10 UTC" in str(caught.value.hint)
    count_attempt(accounts_hub.hub, "b", most=3)
    accounts_hub.clock.wait(minutes=10)
    count_attempt(accounts_hub.hub, "a", most=3)


def test_another_process_counts_on(accounts_hub: AccountsHub) -> None:
    other = AccountsHub(accounts_hub.data, accounts_hub.clock)
    for each in (accounts_hub, other, accounts_hub):
        count_attempt(each.hub, "a", most=3)
    with pytest.raises(RateLimited):
        count_attempt(other.hub, "a", most=3)


def test_only_failures_count_against_a_caller(accounts_hub: AccountsHub) -> None:
    for _ in range(10):
        with few_failures(accounts_hub.hub, "a", most=3):
            pass
    for _ in range(3):
        with pytest.raises(NotFound):
            fail(accounts_hub, "a")
    with pytest.raises(RateLimited):
        fail(accounts_hub, "a")


def test_who_tries_too_often_costs_no_writes(accounts_hub: AccountsHub) -> None:
    for _ in range(3):
        count_attempt(accounts_hub.hub, "a", most=3)
    with accounts_hub.statements() as seen, pytest.raises(RateLimited):
        count_attempt(accounts_hub.hub, "a", most=3)
    assert not any("INSERT" in statement or "DELETE" in statement for statement in seen)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", "unknown"),
        ("testclient", "unknown"),
    ],
)
def test_network_of_an_address_is_one_place(address: str, network: str) -> None:
    assert network_of(address) == network
