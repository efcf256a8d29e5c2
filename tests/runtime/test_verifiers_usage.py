"""What an environment asks of verifiers is read from its source."""

from pathlib import Path

import pytest

from prime_cli.runtime.verifiers_usage import VerifiersUsage, read_requirements
from tests.helpers.wheelhouse import package

LOADER = "\ndef load_environment(): ...\n"


def read(folder: Path, source: str) -> VerifiersUsage:
    found = package(folder, source)
    return read_requirements(found.path, found.facts)


def test_a_module_with_load_environment_needs_a_v0_release(tmp_path: Path) -> None:
    reading = read(tmp_path, "import verifiers as vf\n" + LOADER)

    assert reading.span.allows("0.3.1")
    assert not reading.span.allows("0.4.0")
    assert reading.reason == "`tiny_env` has load_environment"


def test_a_release_is_refused_for_the_reason_that_stands_against_it(tmp_path: Path) -> None:
    reading = read(tmp_path, "import verifiers as vf\nstop = vf.stop\n" + LOADER)

    assert reading.objection("0.1.7.post0") == "it uses `verifiers.stop`"
    assert reading.objection("0.4.0") == "`tiny_env` has load_environment"
    assert reading.objection("0.1.14") is None


def test_a_taskset_needs_a_v1_release(tmp_path: Path) -> None:
    source = "import verifiers.v1 as vf\nclass T(vf.Taskset): ...\n__all__ = ['T']\n"

    reading = read(tmp_path, source)

    assert reading.span.allows("0.4.0")
    assert not reading.span.allows("0.1.14")
    assert ("verifiers.v1", "Taskset") in reading.names


@pytest.mark.parametrize(
    ("source", "fits", "does_not"),
    [
        ("import verifiers as vf\nR = vf.ToolRubric", "0.1.5.post0", "0.1.9"),
        ("import verifiers\nR = verifiers.ToolRubric", "0.1.5.post0", "0.1.9"),
        ("from verifiers import ToolRubric", "0.1.5.post0", "0.1.9"),
        ("def f():\n    from verifiers import ToolRubric", "0.1.5.post0", "0.1.9"),
        ("import verifiers as vf\nclass E:\n  @vf.stop\n  def s(self): ...", "0.1.8", "0.1.7"),
        ("from verifiers import clients", "0.3.1", "0.4.0"),
        ("from verifiers.clients import Client", "0.1.11", "0.1.10"),
        ("from verifiers.trainers import GRPO", "0.1.6", "0.1.7"),
        (
            "import verifiers as vf\ndef build(): ...\nE = vf.SingleTurnEnv(dataset=build)",
            "0.1.10",
            "0.1.9",
        ),
        (
            "import verifiers as vf\nclass E(V):\n  def f(s): V.__init__(eval_dataset=lambda: 1)",
            "0.3.1",
            "0.1.9",
        ),
        (
            "import verifiers as vf\ndef b(n): ...\nE = vf.ToolEnv(dataset=partial(b, 3))",
            "0.1.10",
            "0.1.9",
        ),
    ],
)
def test_names_that_not_every_release_has(
    tmp_path: Path, source: str, fits: str, does_not: str
) -> None:
    reading = read(tmp_path, source + LOADER)

    assert reading.span.allows(fits)
    assert not reading.span.allows(does_not)


@pytest.mark.parametrize(
    "source",
    [
        "import verifiers as vf\ndef build(): ...\nE = vf.SingleTurnEnv(dataset=build())",
        "import verifiers as vf\ndef rows(): ...\nrows = rows()\nE = vf.ToolEnv(dataset=rows)",
        "import verifiers as vf\ndef build(): ...\nprint(dataset=build)",
    ],
)
def test_a_data_set_that_is_there_is_no_builder(tmp_path: Path, source: str) -> None:
    assert read(tmp_path, source + LOADER).span.allows("0.1.9")


@pytest.mark.parametrize(
    ("method", "fits", "does_not"),
    [
        ("def is_completed(self, messages, state, **kwargs): ...", "0.1.7", "0.1.8"),
        ("async def is_completed(self, messages, state): ...", "0.1.5", "0.1.9"),
        ("def is_completed(self, state): ...", "0.1.8", "0.1.7"),
        ("def env_response(self, messages, state):\n        return [], state", "0.1.7", "0.1.8"),
    ],
)
def test_overridden_methods_reveal_the_release(
    tmp_path: Path, method: str, fits: str, does_not: str
) -> None:
    source = f"import verifiers as vf\nclass Talk(vf.MultiTurnEnv):\n    {method}\n"

    reading = read(tmp_path, source + LOADER)

    assert reading.span.allows(fits)
    assert not reading.span.allows(does_not)


@pytest.mark.parametrize(
    "rows",
    [
        "ROW = {'question': 'q', 'answer': 'a', 'task': 'maths'}",
        "for row in ROWS:\n    row['task'] = f'maths-{row}'",
        "DATA = DATA.map(lambda row: {**row, 'task': 'maths'})",
        "DATA = DATA.add_column('task', ['maths'] * len(DATA))",
    ],
)
def test_a_plain_text_task_column_ends_with_0_1_12(rows: str, tmp_path: Path) -> None:
    reading = read(tmp_path, f"import verifiers\n{rows}\n{LOADER}")

    assert reading.span.allows("0.1.12")
    assert not reading.span.allows("0.1.14")


@pytest.mark.parametrize("source", ["LABELS = {'task': 'maths'}", "state['task'] = 'maths'"])
def test_a_task_that_is_not_a_row_of_a_dataset_says_nothing(source: str, tmp_path: Path) -> None:
    reading = read(tmp_path, f"import verifiers\n{source}\n{LOADER}")

    assert reading.span.allows("0.3.1")


@pytest.mark.parametrize(
    "source",
    [
        "import verifiers as vf\ntry:\n    R = vf.ToolRubric\nexcept AttributeError:\n    R = None",
        "try:\n    from verifiers import ToolRubric\nexcept ImportError:\n    ToolRubric = None",
        "import verifiers as vf\nif hasattr(vf, 'ToolRubric'):\n    R = vf.ToolRubric",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from verifiers import ToolRubric",
        "import verifiers\n# vf.ToolRubric was here\nTEXT = 'vf.ToolRubric'",
        "import other as vf\nR = vf.ToolRubric\nNAME = 'verifiers'",
    ],
)
def test_what_the_code_can_do_without_is_not_required(tmp_path: Path, source: str) -> None:
    reading = read(tmp_path, source + LOADER)

    assert reading.span.allows("0.3.1")
    assert ("verifiers", "ToolRubric") not in reading.names


def test_contradictions_leave_what_is_certain(tmp_path: Path) -> None:
    source = "import verifiers as vf\nA = vf.ToolRubric\nB = vf.OpenAIResponsesClient\n"

    reading = read(tmp_path, source + LOADER)

    assert reading.span.allows("0.3.1")
    assert not reading.span.allows("0.4.0")


@pytest.mark.parametrize(
    "source",
    [
        "def broken(:",
        "\x00",
        "(" * 500,
        f"import verifiers\nx = {'-' * 50_000}1",
        f"import verifiers\nx = {' + '.join(['1'] * 5_000)}",
    ],
    ids=["broken", "nul", "brackets", "deep", "long"],
)
def test_a_file_that_cannot_be_parsed_is_passed_over(tmp_path: Path, source: str) -> None:
    found = package(tmp_path, LOADER, files={"other.py": "import verifiers\n" + source})

    assert read_requirements(found.path, found.facts).span.allows("0.3.1")


def test_tests_inside_the_wheel_do_not_count(tmp_path: Path) -> None:
    files = {"tests/test_it.py": "import verifiers as vf\nvf.ToolRubric"}
    found = package(tmp_path, LOADER, files=files)

    assert read_requirements(found.path, found.facts).span.allows("0.3.1")
