import gc

import pytest

from prime_cli.runtime.worker.guards import NEW_OBJECTS, rare_collections


def test_collections_are_rare_within_and_as_usual_after_a_failure() -> None:
    usual = gc.get_threshold()
    with pytest.raises(ValueError, match="broken"):
        _fail_within()
    assert gc.get_threshold() == usual


@rare_collections()
def _fail_within() -> None:
    assert gc.get_threshold()[0] == NEW_OBJECTS
    raise ValueError("broken")
