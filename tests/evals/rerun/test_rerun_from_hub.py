"""What somebody pushed to a hub is made again where the user says, with no key sent elsewhere."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.planning.locate import LookupContext, obtain_environment
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.rerun.rerun import prepare_rerun
from prime_cli.evals.rerun.source import RerunSource
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.plan import RunChange
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.wild import write_project
from tests.runs.saving import PLAN


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def no_hub() -> object:
    raise AssertionError("no hub is asked")


def source_at(endpoint: str, lookup: LookupContext) -> RerunSource:
    """An evaluation of a hub that says it was made at `endpoint`."""
    subject = obtain_environment(write_project(lookup.cwd / "my"), lookup, Silent())
    plan = msgspec.structs.replace(
        PLAN, environment=subject.environment, model="scripted", endpoint=endpoint
    )
    manifest = RunManifest(run_id="ev_1", plan=plan, started="2026-01-01T00:00:00+00:00")
    return RerunSource("ev_1", manifest, lambda: iter(()))


def test_no_key_is_sent_to_where_a_hub_says_a_run_was_made(
    model: ScriptedModel, tmp_path: Path
) -> None:
    lookup = LookupContext(tmp_path, hub=no_hub)  # type: ignore[arg-type]
    environ = {"OPENAI_API_KEY": "sk-the-users", "OPENAI_BASE_URL": model.url}
    with ScriptedModel() as evil:
        source = source_at(evil.url, lookup)
        with pytest.raises(UsageError, match="without asking") as caught:
            prepare_rerun(source, EvalRequest(""), lookup, environ, Silent())
        assert evil.requests == []
    assert f"-b {evil.url}" in (caught.value.hint or "")


def test_what_was_changed_while_it_ran_is_told(model: ScriptedModel, tmp_path: Path) -> None:
    lookup, progress = LookupContext(tmp_path, hub=no_hub), Silent()  # type: ignore[arg-type]
    source = source_at(model.url, lookup)
    request = EvalRequest("", base_url=model.url)
    prepare_rerun(source, request, lookup, {}, progress)
    assert not any("changed" in said for said in progress.said)
    changes = (
        RunChange("2026-01-01T00:00:00+00:00", "ada", "set", concurrency=6),
        RunChange("2026-01-01T00:00:01+00:00", "ada", "cancel", rollouts=((3, 0),)),
    )
    changed = msgspec.structs.replace(source.manifest, changes=changes)
    prepare_rerun(replace(source, manifest=changed), request, lookup, {}, progress)
    assert "changed while it ran, by `set -c 6` and `cancel 3:0`" in "\n".join(progress.said)


def test_it_is_recreated_where_the_user_says(model: ScriptedModel, tmp_path: Path) -> None:
    lookup = LookupContext(tmp_path, hub=no_hub)  # type: ignore[arg-type]
    source = source_at("https://elsewhere.example/v1", lookup)
    request = EvalRequest("", base_url=model.url)
    again = prepare_rerun(source, request, lookup, {}, Silent())
    assert again.prepared.endpoint.url == model.url
