"""Examples of two splits or of a benchmark, as checks."""

import hashlib
import unicodedata
from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.env_check.attack.overlap import (
    NO_BENCHMARK,
    check_benchmark,
    check_splits,
    read_benchmarks,
)
from prime_cli.evals.env_check.attack.panel import conduct_raid
from prime_cli.runtime.protocol import Overlap
from prime_cli.wire.check_reports import Check
from tests.evals.env_check.small import GOOD, bench_for, with_class
from tests.helpers.environments import small_interpreter

SPLIT = """
class Bad(vf.Environment):
    dataset = ROWS[4:]
    eval_dataset = ROWS[:{first}]

    def get_dataset(self, n=-1, seed=None):
        return self.dataset

    def get_eval_dataset(self, n=-1, seed=None):
        return self.eval_dataset
"""


def write(folder: Path, *lines: str) -> Path:
    path = folder / "known.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return path


def test_a_line_is_a_hash_a_text_or_an_object_with_one(tmp_path: Path) -> None:
    # As docs/environments.md tells teams to make hashes of texts that they do not hand out.
    folded = " ".join(unicodedata.normalize("NFKC", "Is it SO?\n").casefold().split())
    own = hashlib.sha256(folded.encode()).hexdigest()
    messages = '[{"role": "system", "content": "x"}, {"role": "user", "content": "is it so?"}]'
    told = (own.upper(), "", '"is it so?"', '{"question": "is  it so?"}')
    found = read_benchmarks([write(tmp_path, *told, f'{{"id": 3, "prompt": {messages}}}')])
    assert found.prints == (own,) * 4
    assert found.places == tuple(f"known.jsonl:{line}" for line in (1, 3, 4, 5))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("what is it?", "known.jsonl:2 is not a text"),
        ('{"answer": "x"}', "known.jsonl:2 is not a text"),
        ('{"prompt": [3]}', "known.jsonl:2 is not a text"),
        ('" "', "known.jsonl:2 is not a text"),
        ("0" * 63, "known.jsonl:2 is not a text"),
    ],
)
def test_a_line_of_something_else_is_named(line: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        read_benchmarks([write(tmp_path, '"ok"', line)])


def test_a_file_without_texts_or_of_other_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no texts"):
        read_benchmarks([write(tmp_path, "", " ")])
    (tmp_path / "known.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_benchmarks([tmp_path / "known.jsonl"])


def attack(folder: Path, first: int, *known: str) -> list[Check]:
    """The checks of an environment that evaluates on its first rows, and trains on those from 4."""
    source = with_class(SPLIT.format(first=first))
    benchmark = read_benchmarks([write(folder, *known)]) if known else NO_BENCHMARK
    python = small_interpreter(folder, source)
    bench = bench_for(folder, python, first=2, compared=benchmark.prints)
    raid = conduct_raid(bench, Silent(), search_calls=0)
    assert raid.run.survey is not None
    assert raid.run.survey.overlap is not None
    overlap = raid.run.survey.overlap
    return [check_splits(overlap), check_benchmark(overlap, benchmark)]


def test_examples_to_evaluate_on_that_are_trained_on_are_counted_and_named(tmp_path: Path) -> None:
    splits, benchmark = attack(tmp_path, 6)
    assert (splits.status, benchmark.status) == ("warn", "skip")
    assert splits.sentence == (
        "2 of 6 examples of `eval` are in another split too: examples 4 and 5. "
        "Example 4 of `eval` is 0 of `train`"
    )
    assert splits.evidence["shared"] == {"eval": 2}


def test_splits_without_an_example_in_common_pass(tmp_path: Path) -> None:
    splits, benchmark = attack(tmp_path, 4, '"say word99"')
    assert (splits.status, benchmark.status) == ("pass", "pass")
    assert splits.sentence == "No example is in two splits (train 8, eval 4)"
    assert benchmark.sentence == "The data has none of its 1 text"


def test_examples_of_a_benchmark_are_named_with_its_lines(tmp_path: Path) -> None:
    _, found = attack(tmp_path, 4, '"something else"', '"Say word1"', '"say WORD9"')
    assert found.status == "fail"
    assert found.sentence == (
        "1 of 8 examples of `train` are in the benchmark: example 5; "
        "1 of 4 examples of `eval` are in the benchmark: example 1. Example 5 is known.jsonl:3"
    )
    assert found.evidence["first"] == [["train", 5, "known.jsonl:3"], ["eval", 1, "known.jsonl:2"]]


def test_a_split_that_cannot_be_read_is_not_compared(tmp_path: Path) -> None:
    broken = SPLIT.replace("return self.dataset", "raise OSError('gone')").format(first=4)
    bench = bench_for(
        tmp_path, small_interpreter(tmp_path, with_class(broken)), first=2, compared=("0" * 64,)
    )
    raid = conduct_raid(bench, Silent(), search_calls=0)
    overlap = raid.run.survey.overlap if raid.run.survey else None
    assert overlap == Overlap(why="OSError: gone")
    known = read_benchmarks([write(tmp_path, '"x"')])
    for check in (check_splits(overlap), check_benchmark(overlap, known)):
        assert (check.status, check.sentence) == ("skip", "A split cannot be read: OSError: gone")


def test_without_splits_of_its_own_the_examples_that_are_run_are_compared(tmp_path: Path) -> None:
    known = read_benchmarks([write(tmp_path, '"say word3"')])
    bench = bench_for(tmp_path, small_interpreter(tmp_path, GOOD), first=2, compared=known.prints)
    raid = conduct_raid(bench, Silent(), search_calls=0)
    overlap = raid.run.survey.overlap if raid.run.survey else None
    assert overlap is not None
    assert check_splits(overlap).sentence == "The data has one split"
    told = "1 of 12 examples are in the benchmark: example 3. Example 3 is known.jsonl:1"
    assert check_benchmark(overlap, known).sentence == told
