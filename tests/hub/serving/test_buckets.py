from prime_cli.hub.serving.rate_limits import TokenBuckets
from tests.hub.serving.clocks import Clock


def test_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=2, burst=3, clock=clock)
    assert [buckets.take("ada") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.pass_by(0.5)
    assert buckets.take("ada") == 0
    assert buckets.take("ada") == 0.5


def test_one_bucket_does_not_empty_another() -> None:
    buckets = TokenBuckets(rate=1, burst=1, clock=Clock())
    assert [buckets.take("ada"), buckets.take("bob")] == [0, 0]
    assert buckets.take("ada") > 0


def test_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=1, burst=2, clock=clock)
    buckets.take("ada")
    clock.pass_by(1000)
    assert [buckets.take("ada") > 0 for _ in range(3)] == [False, False, True]


def test_only_so_many_names_are_remembered() -> None:
    buckets = TokenBuckets(rate=1, burst=1, most=10, clock=Clock())
    for name in range(1000):
        buckets.take(name)
    assert len(buckets._levels) == 10
    assert buckets.take(999) > 0
    assert buckets.take(0) == 0
