import pytest

from prime_cli.runs.sample_lines import SampleLine


@pytest.mark.parametrize(
    ("identity", "place"),
    [
        ('["4.2"]', ("4", "2")),
        ('["4","2"]', ("4", "2")),
        ('["name"]', ("name", "")),
        (None, ("7", "")),
        ("ab" * 32, ("7", "")),
        ("[1]", ("7", "")),
        ("[]", ("7", "")),
        ("3", ("7", "")),
    ],
)
def test_a_sample_says_which_example_and_rollout_it_is(
    identity: str | None, place: tuple[str, str]
) -> None:
    assert SampleLine(7, identity, 1.0, False).place == place
