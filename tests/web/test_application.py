import asyncio
import csv
import io
import json
import re
import tempfile
from pathlib import Path

import pytest
from starlette.responses import StreamingResponse
from starlette.testclient import TestClient

from prime_cli.runs.folder import writing
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.rows import Failure
from prime_cli.runs.saved_run import open_run
from prime_cli.web.application import create_application, download
from prime_cli.web.library import Library
from prime_cli.web.server import open_box
from tests.helpers.hubs import open_hub, publish
from tests.runs.rows import row
from tests.runs.saving import save_run

CALL = {"id": "c1", "function": {"name": "look", "arguments": '{"at": "the sky"}'}}
TALK = [
    {"role": "assistant", "reasoning_content": "hidden thoughts", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "blue & <bright>"},
    {"role": "assistant", "content": "It is blue"},
]


def text_of(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_an_empty_folder_says_how_to_make_a_run(pages: TestClient) -> None:
    assert "prime eval run starter/alphabet-sort" in text_of(pages, "/runs")


def test_runs_are_listed_and_searched(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0))

    assert f"/runs/{folder.run_id}" in text_of(pages, "/runs")
    assert folder.run_id in text_of(pages, "/runs?text=wordle+ORG")
    nothing = text_of(pages, "/runs?text=chess")
    assert "No run matches" in nothing
    assert "Compare two to four" not in nothing


def test_a_run_that_goes_on_is_listed_with_its_results_so_far(
    pages: TestClient, tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0, reward=0.25), row(1, reward=None), status=RUNNING)
    with writing(folder):
        page = text_of(pages, "/runs")

    assert "<td>running, 2 of 4</td>" in page
    assert '<td class="number">0.25</td><td class="number">50%</td>' in page


def test_a_run_shows_its_reward_bounds_metrics_and_errors(
    pages: TestClient, tmp_path: Path
) -> None:
    rows = [row(n, reward=n % 2, metrics={"length": n}) for n in range(6)]
    folder = save_run(tmp_path, *rows, row(6, reward=None), planned=7)

    page = text_of(pages, f"/runs/{folder.run_id}")

    assert "ada/wordle@1.2 with org/model" in page
    assert "0.429 to 0.5" in page
    assert "7, 7 examples" in page
    assert "APITimeoutError" in page
    assert "length: 6 values from 0 to 5" in page
    assert page.count('class="error" href') == 2  # its dot, and its square in the strip
    assert f"prime eval show {folder.run_id}" in page


def test_the_grid_is_filtered_by_reward_error_and_text(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(
        tmp_path, row(0, completion="needle"), row(1, reward=0.0), row(2, reward=None)
    )
    path = f"/runs/{folder.run_id}"

    def examples(query: str) -> list[str]:
        page = text_of(pages, f"{path}?{query}")
        return [str(n) for n in range(3) if f"rollouts/{n}.0" in page]

    assert examples("reward=%3E0.5") == ["0"]
    assert examples("only=errored") == examples("errors=1") == ["2"]
    assert examples("only=wrong") == ["1"]
    assert examples("only=flipped") == []
    assert examples("text=NEEDLE") == ["0"]
    assert examples("reward=none&only=errored") == ["2"]
    assert "is not an outcome" in text_of(pages, f"{path}?only=bad")
    assert "is not a range of rewards" in text_of(pages, f"{path}?reward=high")


def test_long_runs_are_shown_page_by_page(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, *(row(n) for n in range(120)), planned=120)

    first = text_of(pages, f"/runs/{folder.run_id}")
    last = text_of(pages, f"/runs/{folder.run_id}?page=3")

    assert "rollouts/49.0" in first
    assert "rollouts/50.0" not in first
    assert "?page=2#rollouts" in first
    assert "rollouts/119.0" in last
    assert 'rel="next"' not in last
    assert "rollouts/119.0" in text_of(pages, f"/runs/{folder.run_id}?page=99")


def test_a_rollout_shows_every_turn_with_calls_beside_their_results(
    pages: TestClient, tmp_path: Path
) -> None:
    folder = save_run(
        tmp_path, row(0, prompt=[{"role": "user", "content": "Look"}], completion=TALK), row(1)
    )

    page = text_of(pages, f"/runs/{folder.run_id}/rollouts/0.0")

    assert "hidden thoughts" in page
    assert "Calls <code>look</code>" in page
    assert "blue &amp; &lt;bright&gt;" in page
    assert page.count("<section") == 3  # the result is no turn of its own
    assert f'rel="next" href="/runs/{folder.run_id}/rollouts/1.0"' in page
    assert "--rollout 0.0" in page


def test_all_of_a_text_that_is_cut_is_plain_text(pages: TestClient, tmp_path: Path) -> None:
    long = "<script>" * 10_000
    tokens = {"content": [{"token": "a", "logprob": 0.0}] * 1000}
    said = [{"role": "assistant", "content": long, "logprobs": tokens}]
    folder = save_run(tmp_path, row(0, completion=said))
    at = f"/runs/{folder.run_id}/rollouts/0.0"

    page = text_of(pages, at)
    whole = pages.get(f"{at}/text?at=/completion/0/content")

    assert f'href="{at}/text?at=/completion/0/content">Show all 80,000 characters' in page
    assert whole.text == long
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["content-security-policy"].startswith("sandbox")
    assert "Tokens 1 to 1,000 of 1,000" in text_of(pages, f"{at}/tokens?at=/completion/0/logprobs")
    assert pages.get(f"{at}/text?at=/completion/7").status_code == 404


def test_an_error_is_shown_with_its_traceback(pages: TestClient, tmp_path: Path) -> None:
    failure = Failure("environment", "KeyError", "'x'", traceback="line 1\nKeyError")
    folder = save_run(tmp_path, row(0, reward=None, error=failure))

    page = text_of(pages, f"/runs/{folder.run_id}/rollouts/0.0")

    assert "environment error" in page
    assert "line 1\nKeyError" in page


@pytest.mark.parametrize(
    "path", ["/runs/nothing", "/runs/{run}/rollouts/9.0", "/trainings/{run}", "/trainings/nothing"]
)
def test_what_is_not_there_is_a_page_that_says_so(
    pages: TestClient, tmp_path: Path, path: str
) -> None:
    run = save_run(tmp_path, row(0)).run_id

    answer = pages.get(path.format(run=run))

    assert answer.status_code == 404
    assert "prime " in answer.text
    assert '<a href="/runs">All runs</a>' in answer.text


def test_a_run_is_downloaded_in_each_form(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, completion="a"), row(1, reward=None), planned=2)
    base = f"/runs/{folder.run_id}/download"

    lines = pages.get(f"{base}.jsonl")
    assert [json.loads(line)["example_id"] for line in lines.text.splitlines()] == [0, 1]
    assert "attachment" in lines.headers["content-disposition"]
    assert len(list(csv.reader(io.StringIO(pages.get(f"{base}.csv").text)))) == 3
    assert pages.get(f"{base}.parquet").content.startswith(b"PAR1")
    assert "<!doctype html>" in pages.get(f"{base}.html").text
    assert pages.get(f"{base}.exe").status_code == 404


def test_runs_are_compared_with_those_that_changed_first(pages: TestClient, tmp_path: Path) -> None:
    first = save_run(tmp_path, *(row(n, reward=1.0) for n in range(8)))
    other = save_run(tmp_path, *(row(n, reward=float(n != 5)) for n in range(8)))
    query = f"run={first.run_id}&run={other.run_id}"

    page = text_of(pages, f"/compare?{query}")
    sides = text_of(pages, f"/compare/5.0?{query}")

    assert "not decisive" in page
    assert "1 of 8 examples" in page
    assert page.index("/compare/5.0?") < page.index("/compare/0.0?")
    assert sides.count("By itself") == 2
    assert "Choose two to four runs" in text_of(pages, f"/compare?run={first.run_id}")


def test_runs_of_other_examples_are_compared_where_they_are_alike(
    pages: TestClient, tmp_path: Path
) -> None:
    first = save_run(tmp_path, *(row(n, prompt=f"Guess {n}") for n in range(4)))
    other = save_run(tmp_path, *(row(n, prompt=f"Guess {n // 3 * 3}") for n in range(4)))
    query = f"run={first.run_id}&run={other.run_id}"

    refused = text_of(pages, f"/compare?{query}")
    forced = text_of(pages, f"/compare?{query}&force=1")

    assert "2 of 4 examples" in refused
    assert f"/compare?{query}&force=1".replace("&", "&amp;") in refused
    assert "2 examples cannot reliably detect" in forced
    assert "--force" in forced


def test_the_events_of_a_run_that_has_ended_say_so(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0))

    answer = pages.get(f"/runs/{folder.run_id}/events")

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert 'event: ended\ndata: {"status":"finished"}' in answer.text
    assert "grown" in pages.get(f"/runs/{folder.run_id}/events?known=0").text
    assert "grown" not in pages.get(f"/runs/{folder.run_id}/events?known=1").text


def test_a_run_whose_process_is_gone_is_called_stopped(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)

    page = text_of(pages, f"/runs/{folder.run_id}")

    assert f"This run is stopped; continue with `prime eval run --resume {folder.run_id}`" in page


def test_no_page_has_a_style_or_a_script_of_its_own(pages: TestClient, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    said = [{"role": hostile, "content": hostile, "tool_calls": [hostile]}]
    rows = [row(n, completion=said, metrics={hostile: n}, state={hostile: hostile}) for n in (0, 1)]
    run = save_run(tmp_path, *rows).run_id

    for path in (f"/runs/{run}", f"/runs/{run}/rollouts/0.0", "/runs"):
        page = text_of(pages, path)
        assert "<script>" not in page
        assert "<img" not in page
        assert "<style" not in page
        assert ' style="' not in page


def test_the_hub_is_asked_for_pages_only(pages: TestClient) -> None:
    assert pages.get("/api/v1/environmentshub/").status_code == 404


@pytest.mark.parametrize("path", ["/environments/x/y", "/runs/a/b", "/docs"])
def test_an_unknown_address_is_answered_with_a_page(pages: TestClient, path: str) -> None:
    answer = pages.get(path)

    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text
    assert f"{path} was not found" in answer.text
    assert 'href="/runs"' in answer.text


def test_an_environment_is_installed_from_files_once_the_port_is_gone(tmp_path: Path) -> None:
    home = tmp_path / "hub"
    publish(open_hub(home), tmp_path, "wordle")
    app = create_application(Library(tmp_path), open_box(home, "ada")("http://127.0.0.1:8800"))
    with TestClient(app, base_url="http://127.0.0.1:8800") as client:
        page = text_of(client, "/dashboard/environments/ada/wordle")

    assert f"uv add wordle==0.1.0 --index {(home / 'simple' / 'ada').as_uri()}" in page
    assert "127.0.0.1" not in page


@pytest.mark.parametrize("page", ["", "0", "-1", "x", "9" * 12, "9" * 5000])
def test_a_page_that_is_none_is_answered(pages: TestClient, page: str) -> None:
    # Python refuses to read numbers of thousands of digits.
    assert pages.get("/runs", params={"page": page}).status_code == 200


def test_every_rollout_that_is_listed_has_a_page_whatever_its_example_is_called(
    pages: TestClient, tmp_path: Path
) -> None:
    folder = tmp_path / "outputs/evals/env--m/foreign"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text('{"env_id": "env", "model": "m", "num_examples": 5}')
    names = [-3, "gsm8k-1", "a/b?c", 10**17, "-2"]
    lines = [{"example_id": name, "completion": "x", "reward": 1.0} for name in names]
    (folder / "results.jsonl").write_text("\n".join(map(json.dumps, lines)))

    listed = re.findall(r'"foreign/(rollouts/[^"]+)"', text_of(pages, "/runs/foreign"))

    assert len(listed) == len(names)
    for path in listed:
        assert "<h1>Example " in text_of(pages, f"/runs/foreign/{path}")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("form", ["csv", "html", "parquet"])
def test_a_file_stays_until_it_is_sent(tmp_path: Path, temporary: Path, form: str) -> None:
    """Windows removes no file that is open, nor its folder."""
    answer = download(open_run(save_run(tmp_path, row(0)).path), form)
    assert isinstance(answer, StreamingResponse)
    assert len(list(temporary.glob(f"*/*.{form}"))) == 1

    async def send() -> list[bytes]:
        return [each async for each in answer.body_iterator if isinstance(each, bytes)]

    assert b"".join(asyncio.run(send()))
    assert list(temporary.iterdir()) == []
