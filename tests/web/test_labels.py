"""The pages of `prime judge label`: blind, resumable, for several people, and inert."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from prime_cli.evals.gate.labels import PersonLabel, save_label, saved_labels
from prime_cli.runs.folder import RunFolder
from tests.runs.rows import row
from tests.runs.saving import save_run

JUDGED = {"judge": {"org/secret-judge": {"calls": 1, "input": 1, "output": 1, "cost": 0.0}}}
ATTACK = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """Six rollouts, one of which has no score."""
    rows = [
        row(
            n,
            reward=0.8125,
            prompt=[{"role": "user", "content": f"Question {n}"}],
            completion=[{"role": "assistant", "content": f"Reply {n}"}],
            answer=f"Gold {n}",
            metrics={"secret_metric": 0.5},
            state={"judge_response": "a secret verdict"},
            judges=JUDGED,
        )
        for n in range(5)
    ]
    return save_run(tmp_path, *rows, row(5, reward=None), planned=6)


class Person:
    """Somebody who labels without scripts, by the forms of the pages."""

    def __init__(self, client: TestClient, run: RunFolder, name: str) -> None:
        self.client, self.start = client, f"/runs/{run.run_id}/labels/{quote(name, safe='')}"
        self.text, self.path = "", ""
        self.open(self.start)

    def open(self, path: str) -> None:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        self.text, self.path = answer.text, answer.url.path

    @property
    def rollout(self) -> str:
        return self.path.rpartition("/")[2]

    def say(self, label: str) -> None:
        found = re.search(r'name="form_token" value="([^"]+)"', self.text)
        assert found is not None
        answer = self.client.post(self.path, data={"form_token": found[1], "label": label})
        assert answer.status_code == 200, answer.text
        self.text, self.path = answer.text, answer.url.path


def test_a_rollout_is_shown_with_its_answer_and_neither_scores_nor_models(
    pages: TestClient, run: RunFolder
) -> None:
    ada = Person(pages, run, "ada")
    number = ada.rollout.partition(".")[0]
    for told in (f"Question {number}", f"Reply {number}", f"Gold {number}", "0 of 5 labelled"):
        assert told in ada.text
    for hidden in ("0.81", "0.5", "secret", "org/model", "Reward"):
        assert hidden not in ada.text
    assert all(f'value="{each}" aria-keyshortcuts' in ada.text for each in ("pass", "fail", "skip"))


def test_labels_are_kept_and_the_next_visit_goes_on(pages: TestClient, run: RunFolder) -> None:
    ada = Person(pages, run, "ada")
    seen = []
    for label in ("pass", "fail"):
        seen.append(ada.rollout)
        ada.say(label)
    assert "2 of 5 labelled" in ada.text
    first, second = saved_labels(run)
    assert [f"{each.rollout[0]}.{each.rollout[1]}" for each in (first, second)] == seen
    assert (first.person, first.passes, second.passes) == ("ada", True, False)
    again = Person(pages, run, "ada")
    assert again.rollout == ada.rollout
    assert again.rollout not in seen


def test_what_is_skipped_comes_again_after_the_rest(pages: TestClient, run: RunFolder) -> None:
    ada = Person(pages, run, "ada")
    skipped = ada.rollout
    ada.say("skip")
    for _ in range(4):
        assert ada.rollout != skipped
        ada.say("pass")
    assert (ada.rollout, len(saved_labels(run))) == (skipped, 4)
    ada.say("skip")
    assert ada.rollout == skipped
    ada.say("fail")
    assert ada.path == f"/runs/{run.run_id}/labels"
    assert "<td>5 of 5</td>" in ada.text
    assert f"prime judge label {run.run_id}" in ada.text


def test_a_label_is_changed_from_the_link_to_the_last_one(
    pages: TestClient, run: RunFolder
) -> None:
    ada = Person(pages, run, "ada")
    first = ada.path
    assert 'rel="prev"' not in ada.text
    ada.say("pass")
    following = ada.path
    assert f'rel="prev" href="{first}"' in ada.text
    ada.open(first)
    assert 'value="pass" aria-keyshortcuts="p 1" aria-pressed="true"' in ada.text
    ada.say("fail")
    assert ada.path == following
    assert [each.passes for each in saved_labels(run)] == [False]


def test_several_people_label_each_in_an_order_of_their_own(
    pages: TestClient, run: RunFolder
) -> None:
    ada, bob = Person(pages, run, "ada"), Person(pages, run, "Bob <b>")
    ada.say("pass")
    assert "0 of 5 labelled" in bob.text
    bob.say("fail")
    assert {each.person for each in saved_labels(run)} == {"ada", "Bob <b>"}
    ada.open(f"/runs/{run.run_id}/labels")
    assert ">ada</a></td><td>1 of 5</td>" in ada.text
    assert ">Bob &lt;b&gt;</a></td><td>1 of 5</td>" in ada.text
    ada.open(f"/runs/{run.run_id}/labels?as=eve")
    assert ada.path.startswith(f"/runs/{run.run_id}/labels/eve/")


def test_enough_labels_lead_to_the_calibration(pages: TestClient, tmp_path: Path) -> None:
    run = save_run(tmp_path, *(row(n) for n in range(30)), planned=30)
    for n in range(30):
        assert "judge calibrate" not in pages.get(f"/runs/{run.run_id}/labels").text
        save_label(run, PersonLabel((n, 0), "ada", passes=True))
    assert f"prime judge calibrate {run.run_id}" in pages.get(f"/runs/{run.run_id}/labels").text


def test_what_a_model_wrote_is_text(pages: TestClient, tmp_path: Path) -> None:
    said = [{"role": ATTACK, "content": ATTACK, "tool_calls": [{"function": {"name": ATTACK}}]}]
    folder = save_run(tmp_path, row(0, prompt=ATTACK, completion=said, answer=ATTACK))
    ada = Person(pages, folder, "x'onclick='alert(1)")
    assert "<script>alert" not in ada.text
    assert "<img" not in ada.text
    assert "onclick='" not in ada.text
    assert ada.text.count("&lt;script&gt;alert(1)") >= 4


def test_long_texts_lead_to_all_of_them(pages: TestClient, tmp_path: Path) -> None:
    said = [{"role": "assistant", "content": "x" * 30_000}]
    ada = Person(pages, save_run(tmp_path, row(0, completion=said, answer="y" * 9_000)), "ada")
    links = re.findall(r'href="([^"]+/text\?[^"]+)"', ada.text)
    texts = [pages.get(each.replace("&amp;", "&")).text for each in links]
    assert sorted(texts) == ["x" * 30_000, "y" * 9_000]


def test_forms_that_are_not_of_these_pages_label_nothing(pages: TestClient, run: RunFolder) -> None:
    ada = Person(pages, run, "ada")
    for form in ({"label": "pass"}, {"label": "pass", "form_token": "x"}):
        assert pages.post(ada.path, data=form).status_code == 403
    token = re.search(r'name="form_token" value="([^"]+)"', ada.text)
    assert token is not None
    for path, label, code in (
        (ada.path, "maybe", 422),
        (f"{ada.start}/5.0", "pass", 404),
        (f"{ada.start}/99.0", "pass", 404),
        (f"{ada.start}/x", "pass", 422),
        (f"/runs/{run.run_id}/labels/%20/0.0", "pass", 422),
        ("/runs/none/labels/ada/0.0", "pass", 404),
    ):
        form = {"label": label, "form_token": token[1]}
        assert pages.post(path, data=form).status_code == code, path
    assert saved_labels(run) == []
    assert pages.get(f"/runs/{run.run_id}/labels/%ff/0.0").status_code == 422


def test_a_broken_file_of_labels_is_named(pages: TestClient, run: RunFolder) -> None:
    run.labels.write_text('{"example": 1}\n', encoding="utf-8")
    answer = pages.get(f"/runs/{run.run_id}/labels/ada")
    assert answer.status_code == 422
    assert "Line 1 of" in answer.text


def test_a_run_without_scores_has_nothing_to_label(pages: TestClient, tmp_path: Path) -> None:
    empty = save_run(tmp_path, row(0, reward=None))
    answer = pages.get(f"/runs/{empty.run_id}/labels/ada")
    assert answer.status_code == 422
    assert "has a score yet" in answer.text


def test_the_page_of_a_run_says_whether_its_judge_was_compared_with_people(
    pages: TestClient, run: RunFolder, tmp_path: Path
) -> None:
    page = pages.get(f"/runs/{run.run_id}").text
    assert "Its judge was never compared with people" in page
    assert f'href="/runs/{run.run_id}/labels"' in page
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "x.json").write_text("{}", encoding="utf-8")
    assert "is not the record of a calibration" in pages.get(f"/runs/{run.run_id}").text
