"""The list of owners whose code may run here."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prime_cli.envs.trust.owners import TrustedOwners

HUB = "https://hub.example.org"


def test_two_that_add_at_the_same_time_lose_nobody(tmp_path: Path) -> None:
    names = [f"owner-{number}" for number in range(12)]

    def add(name: str) -> None:
        TrustedOwners(tmp_path).add(HUB, name, how="command")

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(add, names))
    assert sorted(each.owner for each in TrustedOwners(tmp_path).all()) == sorted(names)


def test_an_owner_is_on_the_list_once_however_the_hub_is_spelled(tmp_path: Path) -> None:
    owners = TrustedOwners(tmp_path)
    owners.add(HUB, "ada", how="asked")
    owners.add("https://HUB.example.org:443/", "ada", how="command")
    assert [(each.owner, each.how) for each in owners.all()] == [("ada", "asked")]


def test_one_who_is_removed_was_there_once(tmp_path: Path) -> None:
    owners = TrustedOwners(tmp_path)
    owners.add(HUB, "ada", how="asked")
    assert owners.remove(HUB, "ada")
    assert not owners.remove(HUB, "ada")
