"""The run that is made again is found here, else on the hub."""

from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound
from prime_cli.evals.rerun.source import find_source
from prime_cli.runs.manifest import ModelFlags
from tests.evals.sharing.pushing import change_environment, open_way, push, wheel_of
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run


def no_hub() -> object:
    raise AssertionError("no hub is asked")


def test_a_saved_run_is_found_without_a_hub(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, 0, 0.5))
    source = find_source(folder.run_id[:5], tmp_path, no_hub)  # type: ignore[arg-type]
    assert (source.name, source.folder) == (folder.run_id, folder)
    assert [each.reward for each in source.rows()] == [0.5]


def test_an_evaluation_is_read_from_the_hub_without_what_names_keys(tmp_path: Path) -> None:
    hub, _ = open_way(tmp_path / "hub")
    asked = ModelFlags(model="mine", base_url="http://evil.example/v1", key_var="AWS_SECRET")
    folder = save_run(tmp_path, row(0, 0, 1.0), row(0, 1, 0.25), asked=asked)
    change_environment(folder, sha256=wheel_of(hub))
    evaluation = push(hub, folder).evaluation_id
    source = find_source(evaluation, tmp_path / "elsewhere", lambda: hub)
    assert (source.name, source.folder) == (evaluation, None)
    assert source.manifest.plan.model == PLAN.model
    assert source.manifest.asked is None
    for _ in range(2):  # they can be read more than once
        assert [each.reward for each in source.rows()] == [1.0, 0.25]
    with pytest.raises(NotFound, match="no such evaluation on the hub"):
        find_source("ev_nothing", tmp_path, lambda: hub)
