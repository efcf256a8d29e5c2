"""`prime judge` as typed: a judge whose verdicts a person labels over HTTP, and what follows."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from prime_cli.evals.gate.labels import saved_labels
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.listing import find_run
from tests.commands.test_open import needs_signals, pages
from tests.helpers.cli import Prime, Result, prime_process
from tests.helpers.scripted_model import Received, Reply, ScriptedModel
from tests.runs.rows import row
from tests.runs.saving import save_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "environments" / "judged_summaries"
JUDGE = "gpt-4.1-nano"


def _answer(request: Received) -> Reply:
    """The model says a text back; the judge passes that of the library."""
    asked = request.last_user
    if (request.body or {}).get("model") == "scripted":
        return Reply(asked)
    return Reply("Yes." if "library" in asked else "No.")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with ScriptedModel(_answer, models=("scripted", JUDGE, "other-judge")) as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", scripted.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
        yield scripted


def label_all(address: str) -> int:
    """Label what the pages show until they show no more; the number of labels.

    The person disagrees with the judge on rollout 0 of each example.
    """
    count = 0
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        page = browser.get(address)
        while token := re.search(r'name="form_token" value="([^"]+)"', page.text):
            passes = ("The library" in page.text) is not page.url.path.endswith(".0")
            origin = f"{page.url.scheme}://{page.url.netloc.decode()}"
            form = {"form_token": token[1], "label": "pass" if passes else "fail"}
            page = browser.post(page.url, data=form, headers={"origin": origin})
            assert page.status_code == 200, page.text
            count += 1
    assert "<td>36 of 36</td>" in page.text
    return count


@pytest.mark.slow
@needs_signals
def test_a_judge_is_run_labelled_calibrated_and_gated(model: ScriptedModel, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "judged_summaries")

    def prime(*argv: str) -> Result:
        return prime_process(*argv, cwd=tmp_path, env={"PRIME_HOME": str(tmp_path / "home")})

    def evaluate(*argv: str) -> str:
        words = ("judged_summaries", "-m", "scripted", "-b", model.url, "-n", "3", "-r", "12")
        done = prime("eval", "run", *words, *argv, "--output", "json").ok()
        assert done.json["reward"]["mean"] == pytest.approx(1 / 3)
        return str(done.json["run_id"])

    run = evaluate()
    shown = prime("eval", "show", run).ok().err
    assert "was never compared with people" in shown
    assert f"prime judge label {run}" in shown
    gate = ("--require-calibrated", "0.5")
    assert prime("eval", "gate", run, *gate).code == 1

    with pages(["judge", "label", run, "--as", "ada"], tmp_path) as (_, address):
        assert label_all(address) == 36
    labels = saved_labels(find_run(run, tmp_path).folder)
    assert {each.person for each in labels} == {"ada"}
    found = prime("judge", "calibrate", run, "--output", "json").ok().json
    assert found["confusion"] == {
        "passes": 11,
        "false_passes": 1,
        "false_failures": 2,
        "failures": 22,
    }
    assert found["judge"]["models"] == [f"judge {JUDGE}"]
    assert len(found["judge"]["prompts"]) == len(found["judge"]["sampling"]) == 1
    prime("eval", "gate", run, *gate).ok()
    assert "agrees with people to a kappa of 0.816" in prime("eval", "show", run).ok().err

    prime("eval", "gate", evaluate(), *gate).ok()
    other = evaluate("-a", '{"judge_model": "other-judge"}')
    missed = prime("eval", "gate", other, *gate)
    assert missed.code == 1
    assert "before its arguments and models changed" in missed.err
    module = tmp_path / "judged_summaries" / "judged_summaries.py"
    source = module.read_text(encoding="utf-8").replace("Does the summary say", "Does it say")
    module.write_text(source, encoding="utf-8")
    stricter = evaluate()
    assert "before its wheel and prompts changed" in prime("eval", "gate", stricter, *gate).err
    # The same answers, scored by the new judge, have the labels of the first run.
    again = prime("eval", "rescore", run, "--environment", "judged_summaries", "--output", "json")
    rescored = again.ok().json["summary"]["run_id"]
    assert prime("judge", "calibrate", rescored, "--output", "json").ok().json["labelled"] == 36
    prime("eval", "gate", stricter, *gate).ok()


def test_what_cannot_be_labelled_is_said_before_a_page_opens(prime: Prime, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=None))
    empty = prime("judge", "label", folder.run_id, cwd=tmp_path)
    assert (empty.code, "has a score yet" in empty.err) == (2, True)
    strange = prime("judge", "label", folder.run_id, "--as", "a/b", cwd=tmp_path)
    assert (strange.code, "cannot be the name of a person" in strange.err) == (2, True)
    official = RunFolder(tmp_path / "vf")
    official.path.mkdir()
    official.metadata.write_text('{"env_id": "wordle", "model": "m"}', encoding="utf-8")
    official.results.write_text('{"example_id": 0, "reward": 1.0}\n', encoding="utf-8")
    foreign = prime("judge", "label", "vf", cwd=tmp_path)
    assert (foreign.code, "is of another tool" in foreign.err) == (2, True)
