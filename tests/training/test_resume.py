import msgspec
import pytest

from prime_cli.training.request import TrainRequest
from prime_cli.training.resume import resumed_plan
from tests.helpers.training import TRAINING_PLAN


@pytest.mark.parametrize(("given", "stall"), [((), 7200), (("stall",), 60)])
def test_a_resumed_training_keeps_its_stall_unless_it_is_given_again(
    given: tuple[str, ...], stall: int
) -> None:
    before = msgspec.structs.replace(TRAINING_PLAN, stall=7200)
    assert resumed_plan(before, TrainRequest(stall=60), given).stall == stall
