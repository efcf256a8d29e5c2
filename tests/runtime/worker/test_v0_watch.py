"""Reward functions that raise are seen, whatever they are called."""

import logging

import pytest

from prime_cli.runtime.worker.request_identity import RolloutIdentity
from prime_cli.runtime.worker.v0_watch import UnitTrace, current_unit, watch_scoring


@pytest.mark.parametrize("name", ["exact_match", "exact match", "<lambda>", "a: b"])
def test_a_reward_function_that_raises_is_seen_by_any_name(name: str) -> None:
    unit = UnitTrace([RolloutIdentity(0, 0)])
    handlers = logging.getLogger("verifiers").handlers[:]
    watch_scoring()
    token = current_unit.set(unit)
    try:
        logging.getLogger("verifiers").error("Error calling reward function %s: no answer", name)
    finally:
        current_unit.reset(token)
        logging.getLogger("verifiers").handlers[:] = handlers
    assert ": ".join(*unit.raised.items()) == f"{name}: no answer"
