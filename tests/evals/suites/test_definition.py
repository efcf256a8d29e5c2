"""A suite's file as evaluations with names, and what is refused in it."""

from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.suites.definition import Suite, load_suite
from prime_cli.runs.plan import Deadlines


def suite_of(tmp_path: Path, text: str) -> Suite:
    path = tmp_path / "nightly.toml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path)


def test_fields_are_flags_of_an_evaluation(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """
        endpoints_path = "endpoints.toml"
        header = ["X-One: 1"]
        [[eval]]
        id = "./mine"
        endpoint_id = "fast"
        headers = {X-Two = "2"}
        args = {size = 3}
        sampling_args = {top_p = 0.5}
        state_columns = ["kept"]
        max_concurrent = 7
        sandbox = true
        num_workers = 2
        timeout = 90
        call_timeout = "5m"
        """,
    )
    (cell,) = suite.cells
    request = cell.request
    assert request.environment == str(tmp_path / "mine")
    assert (request.model, request.max_concurrent, request.sandbox) == ("fast", 7, True)
    assert request.deadlines == Deadlines(call=300, rollout=90)
    assert request.endpoints_path == tmp_path / "endpoints.toml"
    assert request.headers == ("X-One: 1", "X-Two: 2")
    assert (request.env_args, request.sampling) == ({"size": 3}, {"top_p": 0.5})
    assert request.state_columns == ("kept",)


def test_an_evaluation_is_named_by_what_varies(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """
        num_examples = 4
        [[matrix]]
        models = ["small", "large"]
        environments = ["ada/wordle"]
        [matrix.sweep]
        temperature = [0.0, 1.0]
        [matrix.sweep.args]
        level = ["easy"]
        """,
    )
    assert [cell.key for cell in suite.cells] == [
        "ada/wordle small temperature=0.0",
        "ada/wordle small temperature=1.0",
        "ada/wordle large temperature=0.0",
        "ada/wordle large temperature=1.0",
    ]


def test_limits_and_name_are_of_the_suite(tmp_path: Path) -> None:
    text = '[suite]\nname = "weekly"\nmax_cost = 2.5\ntoken_budget = 1000\nat_once = 2\n'
    suite = suite_of(tmp_path, text + '[[eval]]\nid = "a"')
    assert (suite.name, suite.limits.max_cost, suite.limits.token_budget) == ("weekly", 2.5, 1000)
    assert suite_of(tmp_path, '[[eval]]\nid = "a"').name == "nightly"


def test_the_digest_depends_on_the_evaluations(tmp_path: Path) -> None:
    one = suite_of(tmp_path, 'model = "m"\n[[eval]]\nid = "a"\nnum_examples = 3')
    grown = suite_of(tmp_path, '# more\n[[eval]]\nnum_examples = 9\nid = "a"\nmodel = "m"')
    other = suite_of(tmp_path, 'model = "m2"\n[[eval]]\nid = "a"\nnum_examples = 3')
    assert one.digest == grown.digest != other.digest


def test_flags_win_over_the_file_in_each_evaluation(tmp_path: Path) -> None:
    text = 'num_examples = 9\nmodel = "m"\n[[eval]]\nid = "a"\n[[eval]]\nid = "b"'
    suite = suite_of(tmp_path, text)
    given = EvalRequest("nightly.toml", num_examples=2, sandbox=True)
    requests = [cell.request for cell in suite.overridden(given).cells]
    assert [(r.environment, r.model, r.num_examples, r.sandbox) for r in requests] == [
        ("a", "m", 2, True),
        ("b", "m", 2, True),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[eval]", "is not TOML"),
        ('[suite]\nbudget = 3\n[[eval]]\nid = "a"', "budget"),
        ('[suite]\nmax_cost = -1\n[[eval]]\nid = "a"', "must be positive"),
        ('[suite]\nat_once = 0\n[[eval]]\nid = "a"', "at_once"),
        ('[[eval]]\nid = "a"\nnum_example = 3', r"evaluation 1 \(a\): `num_example`"),
        ('[[eval]]\nid = "a"\nnum_examples = "3"', "must be a whole number"),
        ('[[eval]]\nid = "a"\nindependent_scoring = 1', "must be true or false"),
        ('[[eval]]\nid = "a"\nmodel = "m"\nendpoint_id = "e"', "mutually exclusive"),
        ('[[eval]]\nid = "a"\nresume = true', "`resume` is not a field of a suite"),
        ('[[eval]]\nid = "a"\n[[eval]]\nid = "a"', "twice"),
    ],
)
def test_an_invalid_value_names_the_file_and_the_field(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        suite_of(tmp_path, text)
    assert "nightly.toml" in str(caught.value)


def test_a_close_name_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        suite_of(tmp_path, '[[eval]]\nid = "a"\nrollout_per_example = 3')
    assert caught.value.hint == "did you mean `rollouts_per_example`?"
