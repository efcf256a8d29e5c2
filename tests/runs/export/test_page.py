import base64
import hashlib
import io
import json
import math
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.export import page as html_page
from prime_cli.runs.export.page import write_page
from prime_cli.runs.export.text import as_json, well_formed
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Counts, EnvironmentFacts, Metric, Reward, Summary
from tests.runs.export.hostile import MARKUP, hostile_rows, texts
from tests.runs.rows import row


def summary(name: str = "ada/wordle@1.2", **changes: Any) -> Summary:
    told: dict[str, Any] = {
        "run_id": "1f2e3d4c",
        "path": "outputs",
        "environment": EnvironmentFacts(name),
        "model": name,
        "counts": Counts(1, 1, 0, 0),
        "reward": Reward(1.0, 0.0, 1.0, 1.0),
        "metrics": {"format": Metric(1.0, 0.0)},
        "usage": {},
        "seconds": 1.0,
    }
    return Summary(**told | changes)


class Reader(HTMLParser):
    """What a browser makes of a page: its tags, and the texts of its scripts by type."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)

    def data(self, name: str) -> list[Any]:
        """The JSON of the elements whose id or class is `name`."""
        return [
            json.loads(text)
            for attributes, text in self.scripts
            if name in (attributes.get("id"), attributes.get("class"))
        ]


def page_of(*rows: Row, told: Summary | None = None, **options: Any) -> str:
    file = io.BytesIO()
    write_page(file, told or summary(), {"Sampling": "{}"}, rows, **options)
    return file.getvalue().decode()


def transcripts(page: Reader) -> list[Any]:
    found: list[Any] = []
    for packed in page.data("transcripts"):
        if packed is not None:
            lines = zlib.decompress(base64.b64decode(packed)).split(b"\n")
            found.extend(json.loads(line) for line in lines)
    return found


SKELETON = [tag for tag in Reader(page_of(row(0))).tags if tag != "script"]


@given(st.lists(hostile_rows(), max_size=3), texts)
def test_no_text_becomes_markup_and_all_of_it_is_there(rows: list[Row], name: str) -> None:
    page = Reader(page_of(*rows, told=summary(name), most_transcripts=2))
    assert [tag for tag in page.tags if tag != "script"] == SKELETON
    # Two for each chunk, of which the cap ends one; the run's, and the one that is a script.
    assert page.tags.count("script") == 2 * math.ceil(len(rows) / 2) + 2
    assert page.data("run")[0]["summary"]["model"] == well_formed(name)
    assert transcripts(page) == [json.loads(as_json(each)) for each in rows[:2]]
    shown = [example for index in page.data("index") for example in index["example"]]
    assert shown == [each.example_id for each in rows]


@pytest.mark.parametrize("text", MARKUP)
def test_no_letter_of_markup_is_in_the_data_of_a_page(text: str) -> None:
    hostile = row(0, prompt=text, stop_condition=text, metrics={text: 1.0})
    content = page_of(hostile, told=summary(text, metrics={text: Metric(1.0, 0.0)}))
    data = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>\n', re.DOTALL)
    bodies = data.findall(content)
    assert len(bodies) == 3
    assert not set("".join(bodies)) & set("<>&\u2028\u2029")


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else() -> None:
    content = page_of(row(0))
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', content)
    assert found
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    script = re.findall(r"<script>(.*?)</script>", content, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", content, re.DOTALL)
    assert len(script) == len(style) == 1
    assert rules == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "script-src": f"'sha256-{_sha256(script[0])}'",
        "style-src": f"'sha256-{_sha256(style[0])}'",
    }


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_nothing_of_the_page_is_elsewhere() -> None:
    content = page_of(row(0))
    addresses = set(re.findall(r"https?://[^\s'\"`)]+", content))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(\w+HTML|document\.write|eval\(|Function\()", content)


def test_omitted_transcripts_are_reported_and_their_scores_kept() -> None:
    page = Reader(page_of(*(row(example) for example in range(5)), most_transcripts=2))
    assert len(transcripts(page)) == 2
    assert sum(len(index["reward"]) for index in page.data("index")) == 5
    (note,) = page.data("run")[0]["notes"]
    assert note.startswith("Only the first 2 of 5 transcripts are in this file")


def test_a_page_that_grows_too_large_ends_with_transcripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_page, "MOST_PACKED", 1)
    monkeypatch.setattr(html_page, "ROWS_IN_A_CHUNK", 2)
    page = Reader(page_of(*(row(example) for example in range(5))))
    assert len(transcripts(page)) == 2
    assert "Only the first 2 of 5 transcripts" in page.data("run")[0]["notes"][0]


def test_a_run_that_stopped_says_so() -> None:
    told = summary(status="interrupted", counts=Counts(4, 1, 0, 0))
    assert Reader(page_of(row(0), told=told)).data("run")[0]["notes"] == [
        "This run has not finished: it is interrupted.",
        "3 of 4 planned rollouts are missing.",
    ]


def test_the_index_has_what_is_filtered_by() -> None:
    page = Reader(
        page_of(
            row(3, 1, 0.5, metrics={"format": 1, "note": "x"}, usage={"output": 7}),
            row(4, 0, None, is_truncated=True, timing={"total": 2.5, "setup": 1}),
            row(5, timing={"setup": 1, "agent": 2.0, "start_time": 1e9}),
        )
    )
    assert page.data("index") == [
        {
            "example": [3, 4, 5],
            "rollout": [1, 0, 0],
            "reward": [0.5, None, 1.0],
            "kind": [None, "infra", None],
            "error": [None, "APITimeoutError", None],
            "truncated": [False, True, False],
            "stop": [None, None, None],
            "output": [7, None, None],
            "seconds": [None, 2.5, 3.0],
            "metrics": {"format": [1.0, None, None]},
        }
    ]
