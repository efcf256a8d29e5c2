"""All of what a hub tells in pages is asked for, and no more."""

from dataclasses import dataclass

from prime_cli.api.pages import all_of
from prime_cli.wire.ssh_keys import SshKeyPage


@dataclass(frozen=True)
class Some:
    data: list[str]
    total_count: int


def test_all_pages_are_asked_for_and_no_further_one() -> None:
    there = [str(number) for number in range(250)]
    asked: list[int] = []

    def page(*, offset: int, limit: int) -> Some:
        asked.append(offset)
        return Some(there[offset : offset + limit], len(there))

    assert all_of(page) == there
    assert asked == [0, 100, 200]


def test_a_hub_whose_pages_never_end_is_left() -> None:
    def page(*, offset: int, limit: int) -> Some:
        return Some(["web"] * limit, offset + 2 * limit)

    assert len(all_of(page)) == 10_000


def test_an_empty_page_is_the_end_whatever_the_count_says() -> None:
    assert all_of(lambda *, offset, limit: SshKeyPage(total_count=3)) == []
