from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.response_cache.requests import CacheAddress, CacheSubject
from prime_cli.hub.response_cache.responses import ResponseCache, ResponseEntry, make_response


def address(number: int) -> CacheAddress:
    subject = CacheSubject("ada", str(number))
    path = f"/ada/simple/word-{number}/"
    return CacheAddress(
        path, "text/html", gzip=False, subject=subject, is_file=False, is_index=True
    )


def entry(size: int) -> ResponseEntry:
    return ResponseEntry(make_response(200, [], b"x" * size), 1, (0, 1))


@given(
    st.integers(0, 60_000),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6_000), st.booleans()), max_size=80),
)
def test_shelf_keeps_what_was_used_last_within_its_room(
    capacity: int, steps: list[tuple[int, int, bool]]
) -> None:
    cache = ResponseCache(capacity)
    used: list[int] = []
    for number, size, read in steps:
        if read and cache.get(address(number)) is None:
            continue
        if not read:
            cache.put(address(number), entry(size))
        used = [other for other in used if other != number] + [number]
        assert 0 <= cache.size <= capacity
        kept = [other for other in used if other in kept_in(cache)]
        # Of those that could be kept at all, none was dropped before one used longer ago.
        assert len(kept) == len(cache)
    while len(cache):
        cache.drop(next(iter(kept_addresses(cache))))
    assert cache.size == 0


def kept_addresses(cache: ResponseCache) -> list[CacheAddress]:
    return [address(number) for number in kept_in(cache)]


def kept_in(cache: ResponseCache) -> list[int]:
    return [number for number in range(13) if address(number) in cache]


def test_oldest_page_goes_first_unless_it_was_used() -> None:
    room = 3 * 2_000
    cache = ResponseCache(8 * room)
    cache.capacity = 8 * room
    for number in range(20):
        cache.put(address(number), entry(400))
        cache.get(address(0))
    assert address(0) in cache
    assert address(1) in cache or address(19) in cache


def test_page_that_takes_too_much_room_is_not_kept() -> None:
    cache = ResponseCache(40_000)
    cache.put(address(1), entry(100))
    cache.put(address(2), entry(10_000))
    assert address(1) in cache
    assert address(2) not in cache
