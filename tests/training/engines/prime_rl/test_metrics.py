import json
from pathlib import Path

from prime_cli.training.engines.prime_rl.run import MetricsFile


def _append(path: Path, *lines: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_the_lines_of_both_processes_make_one_step(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    file = MetricsFile(path)
    assert list(file.steps()) == []
    _append(path, {"step": 1, "time": 1.5, "reward/all/mean": 0.25, "progress/tokens": 7})
    _append(path, {"step": 1, "time": 1.6, "loss/mean": 0.5})
    assert list(file.steps()) == []  # a process may still tell more of it
    _append(path, {"step": 3, "time": 2.0})
    told = {"step": 1, "reward": 0.25, "loss": 0.5, "extra": {"progress/tokens": 7}}
    assert list(file.steps()) == [told]
    assert list(file.steps(ended=True)) == [{"step": 3, "extra": {}}]


def test_a_line_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss/me', encoding="utf-8")
    file = MetricsFile(path)
    assert list(file.steps(ended=True)) == []
    with path.open("a", encoding="utf-8") as rest:
        rest.write('an": 2.0}\nnot json\n')
    assert list(file.steps(ended=True)) == [{"step": 1, "loss": 2.0, "extra": {}}]
