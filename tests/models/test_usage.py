"""Usage adds up."""

from prime_cli.models.usage import Usage


def test_usage_adds_field_by_field() -> None:
    assert Usage(1, 2, 3, 4, 5, 6, 7) + Usage(1, 1, 1, 1, 1, 1, 1) == Usage(2, 3, 4, 5, 6, 7, 8)
    assert sum([Usage(1), Usage(2)], Usage()) == Usage(3)
