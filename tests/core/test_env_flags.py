"""Variables that are on or off."""

import pytest

from prime_cli.core.env_flags import AGENT_VARIABLES, find_agent, in_ci, is_on, is_unattended


@pytest.mark.parametrize("value", ["1", "true", "True", "yes", "on", "woodpecker"])
def test_any_value_of_the_ci_variable_means_a_job(value: str) -> None:
    assert in_ci({"CI": value})


@pytest.mark.parametrize("value", ["", " ", "0", "false", "False", "no", "off"])
def test_a_word_for_no_is_off(value: str) -> None:
    assert not in_ci({"CI": value})


def test_what_is_not_set_is_off() -> None:
    assert not is_on("FORCE_COLOR", {})


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_an_agent_says_that_it_types(name: str) -> None:
    assert find_agent({name: "1"}) == name
    assert is_unattended({name: "1"})


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_a_person_may_say_no(value: str) -> None:
    assert find_agent({"AI_AGENT": value}) is None
    assert not is_unattended({"AI_AGENT": value})
