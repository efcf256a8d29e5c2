import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prime_cli.core.progress import Silent
from prime_cli.evals.viewer.text_hits import WantedText, search_runs
from prime_cli.runs.rows import Failure
from prime_cli.runs.saved_run import open_run
from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import save_run

ASKED = [{"role": "user", "content": "What is Six?"}]
SAID = [
    {
        "role": "assistant",
        "content": "I look six up.",
        "tool_calls": [{"function": {"name": "look", "arguments": '{"for": "six"}'}}],
    },
    {"role": "tool", "content": "six: 6"},
]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    failed = Failure("environment", "ValueError", "six is no number", traceback="in six()")
    save_run(tmp_path, row(0, 0, None, error=failed), started="2026-01-01T00:00:00+00:00")
    save_run(tmp_path, row(3, 1, prompt=ASKED, completion=SAID, answer="six"))
    return tmp_path


def found(prime: Prime, here: Path, *words: str) -> list[tuple[str, str]]:
    done = prime("eval", "search", *words, "-o", "json", cwd=here).ok().json
    return [(each["part"], each["snippet"]) for each in done["hits"]]


def test_what_was_said_is_found_in_all_runs_the_newest_first(prime: Prime, here: Path) -> None:
    assert found(prime, here, "six") == [
        ("answers", "I look six up."),
        ("tools", 'look({"for": "six"})'),
        ("tools", "six: 6"),
        ("prompts", "six"),
        ("errors", "environment: ValueError: six is no number"),
        ("errors", "in six()"),
    ]
    shown = prime("eval", "search", "up.", cwd=here).ok()
    assert "3.1      assistant  I look six up." in shown.out
    assert "--rollout 3.1" in shown.err


def test_parts_case_and_expressions_narrow_and_widen(prime: Prime, here: Path) -> None:
    assert found(prime, here, "six", "--in", "answers") == [("answers", "I look six up.")]
    assert found(prime, here, "SIX?", "-i") == [("prompts", "What is Six?")]
    assert found(prime, here, "SIX?") == []
    assert found(prime, here, "--regex", r"^six.*\d$") == [("tools", "six: 6")]
    refused = prime("eval", "search", "--regex", "(", cwd=here)
    assert (refused.code, "not a regular expression" in refused.err) == (2, True)
    assert prime("eval", "search", "", cwd=here).code == 2


def test_a_limit_ends_the_search_and_says_so(prime: Prime, here: Path) -> None:
    cut = prime("eval", "search", "six", "-n", "2", "-o", "json", cwd=here).ok()
    assert (len(cut.json["hits"]), cut.json["more"]) == (2, True)
    assert "--limit 20" in prime("eval", "search", "six", "-n", "2", cwd=here).err
    whole = prime("eval", "search", "six", "-n", "6", "-o", "json", cwd=here).ok()
    assert whole.json["more"] is False


def test_damaged_runs_are_named_and_the_others_searched(prime: Prime, here: Path) -> None:
    torn = save_run(here, row(0, completion="six"))
    torn.journal.write_bytes(torn.journal.read_bytes() + b'{"six": 1}\n')
    (broken := here / "outputs" / "evals" / "a" / "b").mkdir(parents=True)
    (broken / "run.json").write_text("six", encoding="utf-8", newline="\n")
    done = prime("eval", "search", "six", "--in", "answers", "-o", "json", cwd=here).ok()
    assert (len(done.json["hits"]), done.json["unread"]) == (1, 1)
    assert f"run {torn.run_id} is unread: Line 2 of" in done.err
    assert f"{broken} is left out" in done.err


def test_only_the_last_attempt_and_whole_lines_are_found(prime: Prime, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, completion="six"), row(0, completion="ten", attempt=2))
    with folder.journal.open("ab") as file:
        file.write(b'{"example_id": 1, "rollout": 0, "completion": "six')
    assert found(prime, tmp_path, "six") == []
    torn = save_run(tmp_path)
    torn.journal.write_text('{"completion": "six"', encoding="utf-8", newline="\n")
    assert found(prime, tmp_path, "six", torn.run_id) == []
    assert found(prime, tmp_path, "ten", folder.run_id[:6]) == [("answers", "ten")]


def test_other_branches_are_searched_and_shared_messages_told_once(
    prime: Prime, tmp_path: Path
) -> None:
    branch = [*ASKED, {"role": "assistant", "content": "seven"}]
    save_run(tmp_path, row(0, prompt=ASKED, completion=SAID, state={"branches": [branch]}))
    assert found(prime, tmp_path, "seven") == [("answers", "seven")]
    assert len(found(prime, tmp_path, "Six")) == 1


def test_what_would_move_the_cursor_is_not_printed(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0, completion="\x1b[2Jsix\x07\u202e"))
    shown = prime("eval", "search", "six", cwd=tmp_path).ok()
    assert "\x1b" not in shown.out
    assert "[2Jsix\\u202e" in shown.out


TEXTS = st.text(st.sampled_from('aAß"\\/é中\U0001f600 \n\t<k'), min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.booleans(), st.booleans())
def test_no_escape_hides_a_text(
    before: str, text: str, after: str, is_ascii: bool, ignore_case: bool
) -> None:
    said: dict[str, Any] = {"example_id": 0, "reward": 1.0, "completion": before + text + after}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, value in (("metadata.json", {"env_id": "a"}), ("results.jsonl", said)):
            line = json.dumps(value, ensure_ascii=is_ascii) + "\n"
            (folder / file).write_text(line, encoding="utf-8", newline="\n")
        wanted = WantedText(text.swapcase() if ignore_case else text, ignore_case=ignore_case)
        hits = search_runs([open_run(folder)], wanted, 10, Silent()).hits
        is_same = wanted.pattern.search(said["completion"]) is not None
    assert len(hits) == is_same
    assert is_same or ignore_case
