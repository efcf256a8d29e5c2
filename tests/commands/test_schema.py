"""`prime schema`: what a program can know of a command before it runs it."""

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError, validate

from prime_cli.commands.json_schema import FILES, answer_schema
from prime_cli.terminal.text import as_json
from tests.helpers.cli import Prime
from tests.helpers.contracts import leaves, refuse_more
from tests.runs.rows import row
from tests.runs.saving import save_run

ROOT = Path(__file__).parents[2]


def test_it_lists_every_command_with_its_effects(prime: Prime) -> None:
    found = prime("schema").ok().json
    assert [each["command"] for each in found["commands"]] == [
        f"prime {words}" for words, _ in leaves()
    ]
    known = found["effects"].keys()
    assert all(known >= set(each["effects"]) for each in found["commands"])


@pytest.mark.parametrize("words", [words for words, _ in leaves()])
def test_a_command_is_described_whole(prime: Prime, words: str) -> None:
    found = prime("schema", *words.split(), "--output", "json").ok().json
    assert found["command"] == f"prime {words}"
    assert found["summary"]
    assert {"0", "2"} <= found["exit_codes"].keys()
    for schema in (found["answer"], found["line"]):
        Draft202012Validator.check_schema(schema or {})


def test_a_command_that_prints_json_declares_its_answer(prime: Prime) -> None:
    for words, _ in leaves():
        found = prime("schema", *words.split()).ok().json
        if any(each["name"] == "--output" for each in found["options"]):
            assert found["answer"], words


def test_options_say_what_they_take(prime: Prime) -> None:
    found = prime("schema", "eval", "run").ok().json
    options = {each["name"]: each for each in found["options"]}
    assert options["--output"]["choices"] == ["table", "plain", "json", "jsonl"]
    assert options["--model"]["names"] == ["--model", "-m"]
    assert options["--max-concurrent"]["type"] == "int"
    assert "prime eval run starter/alphabet-sort -m builtin/oracle" in found["examples"]


def test_a_group_is_described_command_by_command(prime: Prime) -> None:
    found = prime("schema", "keys").ok().json
    assert [each["command"] for each in found["commands"]] == [
        "prime keys list",
        "prime keys create",
        "prime keys revoke",
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_a_schema(prime: Prime, name: str) -> None:
    found = prime("schema", "--file", name).ok().json
    Draft202012Validator.check_schema(found["schema"])
    assert found["file"] == name


@pytest.mark.parametrize("name", ["run.json", "journal.jsonl", "results.jsonl", "summary.json"])
def test_a_file_of_a_run_is_as_its_schema_says(prime: Prime, tmp_path: Path, name: str) -> None:
    folder = save_run(tmp_path, row(0, 0, 0.5, metrics={"format": 1.0}), row(0, 1, None))
    if name == "summary.json":
        documents = [prime("eval", "show", "--output", "json", cwd=tmp_path).ok().json]
    elif name == "results.jsonl":
        documents = prime("eval", "show", "--output", "jsonl", cwd=tmp_path).ok().records
    else:
        text = (folder.path / name).read_text(encoding="utf-8")
        parts = text.splitlines() if name.endswith("l") else [text]
        documents = [json.loads(each) for each in parts]
    schema = prime("schema", "--file", name).ok().json["schema"]
    assert documents
    for document in documents:
        Draft202012Validator(schema).validate(document)


def test_a_suite_and_a_registry_of_the_documentation_are_as_their_schemas_say(prime: Prime) -> None:
    docs = ROOT / "docs" / "evaluations.md", ROOT / "README.md"
    pages = "\n".join(page.read_text(encoding="utf-8") for page in docs)
    fenced = re.findall(r"```(?:toml)?\n(.*?)```", pages, re.DOTALL)
    blocks = [tomllib.loads(each) for each in fenced if re.search(r"^\[\[", each, re.MULTILINE)]
    for name, table in (("suite.toml", "eval"), ("endpoints.toml", "endpoint")):
        schema = prime("schema", "--file", name).ok().json["schema"]
        shown = [each for each in blocks if table in each]
        assert shown
        for each in shown:
            Draft202012Validator(refuse_more(schema)).validate(each)


def test_what_it_prints_is_json_also_for_people(prime: Prime) -> None:
    assert json.loads(prime("schema", "whoami").ok().out)["command"] == "prime whoami"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["evla"], 6),
        (["eval", "rnu"], 6),
        (["--file", "x"], 6),
        (["eval", "--file", "run.json"], 2),
    ],
)
def test_what_is_not_there_is_named(prime: Prime, words: list[str], code: int) -> None:
    done = prime("schema", *words)
    assert done.code == code
    assert "hint:" in done.err or code == 2


class _Measured(msgspec.Struct):
    mean: float
    known: float | None
    each: dict[str, list[float]]
    share: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    count: int = 1


def test_a_number_that_is_not_finite_fits_the_schema_of_its_answer() -> None:
    schema = answer_schema([_Measured])
    assert schema is not None
    odd = _Measured(math.nan, math.inf, {"a": [1.5, -math.inf]}, math.nan)
    for measured in (odd, _Measured(1.0, None, {}, 0.5)):
        validate(json.loads(as_json(measured)), schema)
    with pytest.raises(ValidationError):
        validate({"mean": 1, "known": 1, "each": {}, "count": None}, schema)
    (definition,) = schema["$defs"].values()
    known = definition["properties"]["known"]["anyOf"]
    assert known == [{"type": "number"}, {"type": "null"}]
