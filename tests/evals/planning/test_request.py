"""Each row of the table of `prime eval run` holds everywhere: help, suite, plan, resume, worker."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from prime_cli.commands.base import load
from prime_cli.core.errors import UsageError
from prime_cli.core.options import OptionField, option_fields
from prime_cli.evals.execution.session_setup import make_spec
from prime_cli.evals.planning.locate import EvalDefaults
from prime_cli.evals.planning.prepare import make_plan
from prime_cli.evals.planning.request import OPTIONS, EvalRequest, Flag
from prime_cli.evals.resume.candidates import request_of_run
from prime_cli.evals.resume.compatibility import differences
from prime_cli.evals.suites.definition import request_of, suite_fields
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.plan import EvalPlan
from tests.helpers.live_run import PLAN, interpreter_in

SAMPLES: dict[Any, Any] = {
    str: "x", int: 7, float: 0.5, bool: True, dict: {"a": 1}, tuple: ("a", "b"), Path: Path("/x"),
}  # fmt: skip
"""A value of each kind that no flag has for a default."""


def flag_of(field: OptionField) -> Flag:
    assert isinstance(field.option, Flag)
    return field.option


PARSED = {"examples": "7", "sandbox_provider": "local"}
FIELDS = option_fields(EvalRequest)
IN_PLAN = [each for each in FIELDS if flag_of(each).plan and not flag_of(each).computed]
SIZES = ("num_examples", "rollouts_per_example")
"""They may grow and not shrink."""


def sample(field: OptionField) -> Any:
    if field.name in PARSED:
        return PARSED[field.name]
    kind = get_args(field.kind)[0] if type(None) in get_args(field.kind) else field.kind
    value = SAMPLES[get_origin(kind) or kind]
    return not field.default if kind is bool else value


def asked(field: OptionField) -> EvalRequest:
    return replace(EvalRequest("tiny-env"), **{field.name: sample(field)})


def plan_of(request: EvalRequest) -> EvalPlan:
    # `--allow-net` is refused without a sandbox.
    sandboxed = replace(request, sandbox=request.sandbox or request.allow_net)
    return make_plan(sandboxed, PLAN.environment, EvalDefaults(), model="m", endpoint="http://x/v1")


def names(fields: list[OptionField]) -> list[str]:
    return [each.name for each in fields]


def test_the_command_has_an_option_for_each_row_and_its_help_shows_it() -> None:
    command = load("prime_cli.commands.eval.run:run")
    spelled = {name for option in command.params for name in option.opts}
    shown = (Path(__file__).parents[3] / "docs" / "commands.md").read_text("utf-8")
    for field in FIELDS:
        told = [name.partition("/")[0] for name in field.names]
        assert spelled.issuperset(told)
        assert told[0] in shown


def test_a_suite_takes_the_fields_of_a_row_and_refuses_the_others() -> None:
    known = suite_fields()
    for field in FIELDS:
        own = [name for name, each in known.items() if each.name == field.name]
        if not own:
            long = field.names[0].removeprefix("--").replace("-", "_")
            with pytest.raises(UsageError, match=f"`{long}` is not a field of an evaluation"):
                request_of({"env_id": "a", long: sample(field)}, Path("/suites"))
        for name in own:
            value = {"X-One": "1"} if name == "headers" else _as_toml(sample(field))
            request = request_of({"env_id": "a", name: value}, Path("/suites"))
            assert getattr(request, field.name) != field.default


def _as_toml(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if value == Path("/x") else value


@pytest.mark.parametrize("field", IN_PLAN, ids=names(IN_PLAN))
def test_what_is_asked_is_in_the_plan_and_a_resume_keeps_it(field: OptionField) -> None:
    plan, value = plan_of(asked(field)), sample(field)
    where = flag_of(field).plan or ""
    assert (plan.option(field.name) if where == OPTIONS else getattr(plan, where)) == value
    manifest = RunManifest(run_id="1f2e3d4c", plan=plan, started="2026-01-01T00:00:00+00:00")
    assert getattr(request_of_run(EvalRequest(), manifest), field.name) == value


@pytest.mark.parametrize("field", IN_PLAN, ids=names(IN_PLAN))
def test_a_resume_compares_the_rows_that_are_fixed(field: OptionField) -> None:
    flag = flag_of(field)
    without, plan = plan_of(EvalRequest("tiny-env")), plan_of(asked(field))
    before = RunManifest(run_id="1f2e3d4c", plan=plan, started="2026-01-01T00:00:00+00:00")
    found = [each.name.partition(".")[0] for each in differences(before, without)]
    assert found == ([field.name if flag.plan == OPTIONS else flag.plan] if flag.fixed else [])


def test_a_resume_compares_the_extras() -> None:
    plan = plan_of(EvalRequest("tiny-env"))
    more = msgspec.structs.replace(plan.environment, extras=("nlp",))
    manifest = RunManifest(
        run_id="1f2e3d4c",
        plan=msgspec.structs.replace(plan, environment=more),
        started="2026-01-01T00:00:00+00:00",
    )
    assert [str(each) for each in differences(manifest, plan)] == ["extras: was nlp, now unset"]
    assert request_of_run(EvalRequest(), manifest).environment.endswith("[nlp]")


def test_the_worker_gets_the_rows_that_are_sent() -> None:
    sent = [each for each in FIELDS if flag_of(each).worker]
    for field in sent:
        spec = make_spec(plan_of(asked(field)), interpreter_in(Path()), "http://x/v1", "token")
        where = flag_of(field).worker or ""
        assert (spec.options if where == OPTIONS else {field.name: getattr(spec, where)}) == {
            field.name: sample(field)
        }


def test_a_flag_that_was_not_given_leaves_no_trace_on_disk_or_on_the_wire() -> None:
    plan = plan_of(EvalRequest("tiny-env"))
    spec = make_spec(plan, interpreter_in(Path()), "http://x/v1", "token")
    assert OPTIONS not in msgspec.to_builtins(plan)
    assert OPTIONS not in msgspec.to_builtins(spec)
