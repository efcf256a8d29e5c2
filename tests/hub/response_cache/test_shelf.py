from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.response_cache.requests import Address, Subject
from prime_cli.hub.response_cache.responses import Entry, Shelf, make_page


def address(number: int) -> Address:
    subject = Subject("ada", str(number))
    path = f"/ada/simple/word-{number}/"
    return Address(path, "text/html", gzip=False, subject=subject, is_file=False)


def entry(size: int) -> Entry:
    return Entry(make_page(200, [], b"x" * size), 1, (0, 1))


@given(
    st.integers(0, 60_000),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6_000), st.booleans()), max_size=80),
)
def test_shelf_keeps_what_was_used_last_within_its_room(
    capacity: int, steps: list[tuple[int, int, bool]]
) -> None:
    shelf = Shelf(capacity)
    used: list[int] = []
    for number, size, read in steps:
        if read and shelf.get(address(number)) is None:
            continue
        if not read:
            shelf.put(address(number), entry(size))
        used = [other for other in used if other != number] + [number]
        assert 0 <= shelf.size <= capacity
        kept = [other for other in used if other in kept_in(shelf)]
        # Of those that could be kept at all, none was dropped before one used longer ago.
        assert len(kept) == len(shelf)
    while len(shelf):
        shelf.drop(next(iter(kept_addresses(shelf))))
    assert shelf.size == 0


def kept_addresses(shelf: Shelf) -> list[Address]:
    return [address(number) for number in kept_in(shelf)]


def kept_in(shelf: Shelf) -> list[int]:
    return [number for number in range(13) if address(number) in shelf]


def test_oldest_page_goes_first_unless_it_was_used() -> None:
    room = 3 * 2_000
    shelf = Shelf(8 * room)
    shelf.capacity = 8 * room
    for number in range(20):
        shelf.put(address(number), entry(400))
        shelf.get(address(0))
    assert address(0) in shelf
    assert address(1) in shelf or address(19) in shelf


def test_page_that_takes_too_much_room_is_not_kept() -> None:
    shelf = Shelf(40_000)
    shelf.put(address(1), entry(100))
    shelf.put(address(2), entry(10_000))
    assert address(1) in shelf
    assert address(2) not in shelf
