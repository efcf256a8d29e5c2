"""A folder of a run that somebody sent: whatever its files hold, it is told and nothing crashes."""

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.commands.eval.list import _row as line_of
from prime_cli.commands.eval.summary import summary_lines
from prime_cli.core.errors import PrimeError
from prime_cli.evals.sharing.push_record import load_record as load_push
from prime_cli.evals.suites.definition import load_suite
from prime_cli.evals.suites.record import SuiteFolder, SuiteRecord, list_suites, load_record
from prime_cli.models.price_book import user_table
from prime_cli.models.registry import load_registry
from prime_cli.runs.index.file import index_path
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.summary import Summary
from prime_cli.terminal.text import as_json
from tests.runs.rows import row
from tests.runs.saving import PLAN

SCALARS: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**70, 10**400, 1e308, -0.5, "", "x", "../../etc", "\x1b[2J", "a\0b"]),
)
ANYTHING: Any = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
)
FEW = settings(max_examples=60, suppress_health_check=list(HealthCheck))
OFFICIAL_LINE: dict[str, Any] = {
    "example_id": 1, "prompt": [{"role": "user", "content": "x"}], "completion": "y", "reward": 1.0,
    "metrics": {"m": 1.0}, "timing": {"total": 1.0}, "error": {"error": "E", "message": "m"},
    "token_usage": {"input_tokens": 1}, "prime": {"attempt": 1, "rollout": 0}, "info": {},
}  # fmt: skip
OFFICIAL: dict[str, Any] = {
    "env_id": "e", "model": "m", "num_examples": 2, "rollouts_per_example": 1, "time": 1.0,
    "date": "2026-01-01", "version_info": {"vf_version": "1"}, "usage": {"input": 1},
    "avg_reward": 1.0, "avg_error": 0.0,
}  # fmt: skip
EPISODE: dict[str, Any] = {
    "ok": True, "task": {"key": "k", "type": "t", "data": {"idx": 0, "prompt": "p"}}, "errors": [],
    "traces": [{
        "agent": {"name": "a", "trainable": True}, "rewards": {"r": {"score": 1.0, "weight": 1.0}},
        "metrics": {"m": 1.0}, "timing": {"agent": {"start": 1.0, "end": 2.0}}, "errors": [],
        "nodes": [{"parent": None, "message": {"role": "user"}, "sampled": False}],
        "calls": [{"finish_reason": "stop", "usage": {"prompt_tokens": 1}}],
    }],
}  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn, whole: Any) -> Any:
    """`whole` with one value somewhere in it replaced by anything."""
    places = list(_places(whole))
    place = draw(st.sampled_from(places))
    copy = json.loads(json.dumps(whole))
    if not place:
        return draw(ANYTHING)
    inside = copy
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = draw(ANYTHING)
    return copy


def _places(value: Any, place: tuple[Any, ...] = ()) -> Any:
    yield place
    steps = range(len(value)) if isinstance(value, list) else value
    for step in steps if isinstance(value, list | dict) else ():
        inner = value[step]
        yield from _places(inner, (*place, step))


def manifest() -> Any:
    return msgspec.to_builtins(
        RunManifest(
            run_id="r",
            plan=PLAN,
            started="2026-01-01T00:00:00+00:00",
            examples=2,
            planned=4,
            usage={"input": 3, "cost": 1.0, "roles": {"judge": {"input": 3, "cost": None}}},
            unjournaled={"judge": {"m": {"calls": 1, "input": 3}}},
        )
    )


def show(summary: Summary) -> None:
    summary_lines(summary)
    as_json(summary)


def look_at(folder: Path) -> None:
    """All that only reads a run; what it cannot read it refuses."""
    shown = [line_of(item) for item in list_runs(folder.parents[3])]
    assert len(shown) <= 1
    for look in (
        lambda: show(open_run(folder).summary()),
        lambda: list(open_run(folder).rows()),
        lambda: load_push(folder, "https://hub"),
    ):
        with contextlib.suppress(PrimeError):
            look()


def in_folder(files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "outputs" / "evals" / "e--m" / "r"
        folder.mkdir(parents=True)
        for file, content in files.items():
            lines = content if file.endswith("l") else [content]
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            (folder / file).write_text(text, encoding="utf-8")
        look_at(folder)


@FEW
@given(spoiled(manifest()))
def test_a_spoiled_manifest_is_reported(said: Any) -> None:
    in_folder({"run.json": said, "journal.jsonl": [msgspec.to_builtins(row(0, 0))]})


@FEW
@given(spoiled(msgspec.to_builtins(row(0, 0))))
def test_a_spoiled_line_of_a_journal_is_reported(line: Any) -> None:
    in_folder({"run.json": manifest(), "journal.jsonl": [msgspec.to_builtins(row(0, 1)), line]})


@FEW
@given(spoiled(OFFICIAL), spoiled(OFFICIAL_LINE))
def test_spoiled_files_of_vf_eval_are_reported(metadata: Any, line: Any) -> None:
    in_folder({"metadata.json": metadata, "results.jsonl": [OFFICIAL_LINE, line]})


@FEW
@given(spoiled(EPISODE))
def test_spoiled_traces_are_reported(line: Any) -> None:
    in_folder({"traces.jsonl": [EPISODE, line]})


@FEW
@given(spoiled({"schema": 1, "pushes": [{"hub": "https://hub", "key": "k", "content": "c"}]}))
def test_a_spoiled_record_of_pushes_is_reported(said: Any) -> None:
    in_folder({"run.json": manifest(), "push.json": said})


@FEW
@given(st.binary(max_size=200))
def test_an_invalid_index_is_not_trusted(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.json").write_text(json.dumps(manifest()), encoding="utf-8")
        journal = folder / "journal.jsonl"
        journal.write_bytes(msgspec.json.encode(row(0, 0)) + b"\n")
        index_path(journal).write_bytes(b"PRIMEIDX" + content)
        assert [each.example_id for each in open_run(folder).rows()] == [0]


@pytest.mark.parametrize("file", ["run.json", "journal.jsonl", "results.jsonl", "traces.jsonl"])
@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff\xfe\n", b"", b"{}\n", b'"\\ud800"\n'])
def test_files_that_are_not_json_are_reported(tmp_path: Path, file: str, content: bytes) -> None:
    folder = tmp_path / "outputs" / "evals" / "e--m" / "r"
    folder.mkdir(parents=True)
    if file == "journal.jsonl":
        (folder / "run.json").write_text(json.dumps(manifest()), encoding="utf-8")
    if file == "results.jsonl":
        (folder / "metadata.json").write_text("{}", encoding="utf-8")
    (folder / file).write_bytes(content)
    look_at(folder)


@FEW
@given(
    spoiled(
        msgspec.to_builtins(
            SuiteRecord(suite_id="s", name="n", file="f", digest="d", started="2026-01-01")
        )
    )
)
def test_a_spoiled_record_of_a_suite_is_reported(said: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "outputs" / "suites" / "n" / "s"
        folder.mkdir(parents=True)
        (folder / "suite.json").write_text(json.dumps(said), encoding="utf-8")
        list_suites(Path(name))
        with contextlib.suppress(PrimeError):
            load_record(SuiteFolder(folder))


TOML = st.lists(
    st.sampled_from(
        ["[[eval]]", "[suite]", "[[ablation]]", "[[price]]", "[[endpoint]]", "[ablation.sweep]"]
        + [f"{name} = {value}" for name in ("env_id", "model", "endpoint_id", "price", "headers",
           "key", "url", "input", "output", "args", "exclude", "env_args", "max_cost", "id", "eval",
           "name", "suite", "endpoint", "ablation", "host", "at_once", "sampling_args")
           for value in ("1", '"x"', "[]", "{}", "[1, [2]]", "{a = 1}", "inf", "true", "-1",
                         "2026-01-01", '["a", "b"]', "[{a = 1}]", "1" * 400)]
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(TOML)
@pytest.mark.parametrize("read", [load_suite, user_table, lambda p: load_registry(p, p.parent)])
def test_a_spoiled_toml_file_is_reported(read: Callable[[Path], object], lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        with contextlib.suppress(PrimeError):
            read(path)


@pytest.mark.parametrize("read", [load_suite, user_table, lambda p: load_registry(p, p.parent)])
@pytest.mark.parametrize("content", [b"\xff", b"a = " + b"[" * 100_000, b"a = '''", b"\0"])
def test_a_file_that_is_not_toml_is_reported(
    read: Callable[[Path], object], content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    with pytest.raises(PrimeError):
        read(path)


def test_a_cost_that_is_not_a_number_is_not_shown() -> None:
    spoiled_cost = manifest() | {"usage": {"cost": {}, "known_cost": {}}}
    in_folder({"run.json": spoiled_cost, "journal.jsonl": [msgspec.to_builtins(row(0, 0))]})
