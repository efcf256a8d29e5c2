"""Variables that are on or off."""

import pytest

from prime_cli.core.env_flags import in_ci, is_on


@pytest.mark.parametrize("value", ["1", "true", "True", "yes", "on", "woodpecker"])
def test_any_value_of_the_ci_variable_means_a_job(value: str) -> None:
    assert in_ci({"CI": value})


@pytest.mark.parametrize("value", ["", " ", "0", "false", "False", "no", "off"])
def test_a_word_for_no_is_off(value: str) -> None:
    assert not in_ci({"CI": value})


def test_what_is_not_set_is_off() -> None:
    assert not is_on("FORCE_COLOR", {})
