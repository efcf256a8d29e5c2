import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from prime_cli.hub.context import open_hub
from prime_cli.hub.db.tables import samples
from tests.hub.evaluating import finalize, finished, made, push_bytes
from tests.hub.evaluating import push as push_samples
from tests.hub.pushing import Push, data, open_app, settings_for
from tests.hub.services.test_version_documents import put_report, report_of

API = "/api/v1"


@pytest.fixture
def word(client: httpx.Client) -> Push:
    push = Push(client, metadata={"description": "Guess <words>", "tags": ["game"]})
    return push.run()


def evaluate(client: httpx.Client, push: Push, **more: Any) -> str:
    """A finished evaluation with two samples; its id."""
    body = {
        "name": "first <run>",
        "environments": [{"id": push.environment_id}],
        "model_name": "tiny",
        "is_public": True,
    }
    made = client.post(f"{API}/evaluations/", json=body | more).raise_for_status().json()
    samples = [
        {
            "example_id": number,
            "prompt": [{"role": "user", "content": "<script>alert(1)</script>"}],
            "completion": "x" * 1000,
            "reward": float(number),
        }
        for number in range(2)
    ]
    address = f"{API}/evaluations/{made['evaluation_id']}"
    client.post(f"{address}/samples", json={"samples": samples}).raise_for_status()
    client.post(f"{address}/finalize", json={}).raise_for_status()
    return str(made["evaluation_id"])


def test_first_page_lists_and_searches(client: httpx.Client, word: Push) -> None:
    page = client.get("/")
    assert 'href="/dashboard/environments/ada/word"' in page.text
    assert "Guess &lt;words&gt;" in page.text
    assert "ada/word" not in client.get("/?search=nothing").text
    assert "ada/word" in client.get("/?search=word").text


def test_filters_narrow_the_list_and_stay_in_its_form(client: httpx.Client, word: Push) -> None:
    Push(client, "sums", metadata={"description": "Add", "tags": ["single-turn", "math"]}).run()

    def shown(**query: str) -> list[str]:
        text = client.get("/", params=query).text
        return [name for name in ("ada/sums", "ada/word") if f">{name}</a>" in text]

    assert shown(kind="single-turn") == ["ada/sums"]
    assert shown(tag="game") == ["ada/word"]
    assert shown(owner="ada", sort="stars") == ["ada/sums", "ada/word"]
    assert shown(owner="eve") == []
    assert shown(sort="nonsense") == ["ada/sums", "ada/word"]
    page = client.get("/", params={"kind": "single-turn", "sort": "name", "tag": "math"}).text
    assert 'aria-current="true">single-turn</a>' in page
    assert '<input type="hidden" name="kind" value="single-turn">' in page
    assert '<option value="name" selected>' in page
    assert "prime env list --kind single-turn --tag math --sort name" in page


def test_a_list_by_name_begins_with_a_and_goes_on_in_that_order(client: httpx.Client) -> None:
    for number in range(21):
        Push(client, f"env-{number:02}", code=f"x = {number}").run()
    first = client.get("/?sort=name")
    assert "ada/env-00" in first.text
    address = first.text.partition('class="button" href="')[2].partition('"')[0]
    second = client.get(address.replace("&amp;", "&"))
    assert "ada/env-20" in second.text
    assert "21 environments" in second.text


def test_a_card_has_the_check_and_the_best_known_score(client: httpx.Client, word: Push) -> None:
    assert "check:" not in client.get("/").text
    data(put_report(client, report_of(word.wheel)))
    wanted = evaluate(client, word)
    text = client.get("/").text
    assert '<span class="badge warn">check: warned</span>' in text
    assert "Best: <b>0.5</b>" in text
    assert f'by <a href="/dashboard/evaluations/{wanted}">tiny</a>' in text


def test_an_empty_hub_says_how_to_publish_and_an_empty_search_how_to_find(
    client: httpx.Client,
) -> None:
    assert "prime env upload my-env --visibility public" in client.get("/").text
    assert "No public environments found." in client.get("/?search=x").text


def test_search_is_shown_as_it_was_typed(client: httpx.Client) -> None:
    page = client.get("/", params={"search": '"><script>alert(1)</script>'})
    assert "<script>" not in page.text
    assert "&lt;script&gt;" in page.text


def test_every_page_leads_to_the_others(client: httpx.Client) -> None:
    for page in ("/", "/dashboard/tokens/challenge", "/docs"):
        for path in ("/", "/dashboard/tokens/challenge", "/docs"):
            assert f'href="{path}"' in client.get(page).text


def test_page_may_run_and_load_nothing(client: httpx.Client, word: Push) -> None:
    for path in ("/", "/dashboard/environments/ada/word"):
        policy = client.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy


def test_evaluation_page_shows_what_came_out(client: httpx.Client, word: Push) -> None:
    wanted = evaluate(client, word)
    page = client.get(f"/dashboard/evaluations/{wanted}")
    assert page.status_code == 200
    assert "first &lt;run&gt;" in page.text
    assert "Reward: 2 values from 0 to 1" in page.text
    assert "<script>" not in page.text
    samples = [client.get(f"/dashboard/evaluations/{wanted}/samples/{n}") for n in (1, 2, 3)]
    assert [each.status_code for each in samples] == [200, 200, 404]
    assert "x" * 600 in samples[0].text + samples[1].text
    assert "<script>" not in samples[0].text + samples[1].text
    environment = client.get("/dashboard/environments/ada/word/evaluations")
    assert f"/dashboard/evaluations/{wanted}" in environment.text


def test_all_of_a_text_of_a_sample_is_plain_text(client: httpx.Client, word: Push) -> None:
    long = "<script>" * 10_000
    logprobs = {"content": [{"token": "a", "logprob": 0.0}] * 3}
    turns = [{"role": "assistant", "content": long, "logprobs": logprobs}] * 9
    wanted = finished(client, [{"reward": 1.0, "completion": turns}])
    at = f"/dashboard/evaluations/{wanted}/samples/1"

    page, later = client.get(at).text, client.get(f"{at}?from=6").text
    whole = client.get(f"{at}/text?at=/completion/8/content")
    missing = client.get(f"{at}/text?at=/completion/9")

    assert f'href="{at}?from=5#turns">Later turns' in page
    assert f'href="{at}/text?at=/completion/8/content">Show all 80,000 characters' in later
    assert (whole.text, whole.headers["content-type"]) == (long, "text/plain; charset=utf-8")
    assert whole.headers["content-security-policy"].startswith("sandbox")
    assert missing.status_code == 404
    assert "Tokens 1 to 3 of 3" in client.get(f"{at}/tokens?at=/completion/0/logprobs").text


def test_a_sample_too_large_for_a_page_is_named_with_the_command_that_prints_it(
    client: httpx.Client, word: Push
) -> None:
    wanted = finished(client, [{"reward": 1.0, "completion": "x" * (2 << 20)}])

    page = client.get(f"/dashboard/evaluations/{wanted}/samples/1")

    assert page.status_code == 413
    assert re.search("Sample 1 has 2,097,[0-9]+ bytes, too many for a page", page.text)
    assert f"prime eval samples {wanted} -n 1 -p 1" in page.text


def test_evaluation_page_counts_errors_by_class(client: httpx.Client, word: Push) -> None:
    timeout = {"class": "infra", "type": "APITimeoutError", "message": "after <60> s"}
    official = {"error": "KeyError", "error_chain_str": "KeyError: 'a'", "class": "environment"}
    errors: list[Any] = [timeout, official, timeout, "it broke"]
    wanted = finished(client, [{"reward": None, "error": each} for each in errors])
    text = client.get(f"/dashboard/evaluations/{wanted}").text
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td.*?>(\d)</td><td>(.*?)</td>", text)
    assert rows == [
        ("infra", "APITimeoutError", "2", "after &lt;60&gt; s"),
        ("environment", "KeyError", "1", "KeyError: &#39;a&#39;"),
        ("", "error", "1", "it broke"),
    ]


def test_events_of_a_finished_evaluation_end_at_once(client: httpx.Client, word: Push) -> None:
    wanted = evaluate(client, word)
    events = f"/dashboard/evaluations/{wanted}/events"
    answer = client.get(f"{events}?known=2")
    assert answer.headers["content-type"] == "text/event-stream"
    assert 'event: ended\ndata: {"status":"COMPLETED"}' in answer.text
    assert "grown" not in answer.text
    assert "id: 2\nevent: grown" in client.get(f"{events}?known=1").text
    again = client.get(f"{events}?known=1", headers={"last-event-id": "2"})
    assert "grown" not in again.text
    assert "data-live=" not in client.get(f"/dashboard/evaluations/{wanted}").text
    assert client.get("/dashboard/evaluations/ev_nothing/events").status_code == 404


def test_samples_off_the_page_are_read_again_only_after_a_push(
    folder: Path, client: httpx.Client, word: Push
) -> None:
    many: list[dict[str, Any]] = [
        {"example_id": n, "rollout_number": 0, "reward": n / 210, "metrics": {"tries": n}}
        for n in range(210)
    ]
    wanted = finished(client, many)

    def view(query: str = "") -> str:
        return client.get(f"/dashboard/evaluations/{wanted}{query}").raise_for_status().text

    first = view()
    assert "Reward: 210 values from 0 to 0.995" in first
    assert "tries: 210 values from 0 to 209" in first
    assert "95 % interval" in first
    # Samples that no push changed: whoever reads one of them shows it, or fails.
    off = samples.c.evaluation_id == wanted, samples.c.number > 200
    changed = update(samples).where(*off)
    hub = open_hub(settings_for(folder))
    with hub.database.write() as connection:
        connection.execute(changed.values(reward=7.0, scores="no JSON", identity=None))
    assert view() == first
    assert "Reward: 210 values from 0 to 0.995" in view("?reward=%3C0.1")

    with hub.database.write() as connection:
        connection.execute(changed.values(scores="{}"))
    push_samples(client, wanted, [{"example_id": 500, "rollout_number": 0, "reward": 8.0}])
    assert "Reward: 211 values from 0 to 8" in view()
    assert "tries: 200 values from 0 to 199" in view()
    push_samples(client, wanted, [{"example_id": 500, "rollout_number": 0, "reward": 9.0}])
    assert "Reward: 211 values from 0 to 9" in view()


@pytest.mark.parametrize("path", ["environments/ada/nothing", "evaluations/ev_nothing"])
def test_what_is_not_there_is_a_page_too(client: httpx.Client, path: str) -> None:
    page = client.get(f"/dashboard/{path}")
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "not found" in page.text


def test_browser_without_a_key_sees_nothing_private(folder: Path) -> None:
    push = Push(open_app(folder), "secret", visibility="PRIVATE").run()
    hidden = evaluate(open_app(folder), push, is_public=False)
    nobody = open_app(folder, accounts=True)
    assert "secret" not in nobody.get("/").text
    assert nobody.get("/dashboard/environments/ada/secret").status_code == 404
    assert nobody.get(f"/dashboard/evaluations/{hidden}").status_code == 404


def test_card_and_evaluation_say_who_sees_them(folder: Path) -> None:
    client = open_app(folder)
    push = Push(client, "secret", visibility="PRIVATE").run()
    assert '<span class="badge warn">private</span>' in client.get("/").text
    for is_public, seen_by in ((True, "everybody"), (False, "its owner")):
        evaluation = evaluate(client, push, is_public=is_public)
        page = client.get(f"/dashboard/evaluations/{evaluation}").text
        assert f">Seen by</span> {seen_by}<" in page
    Push(client, "secret").change_visibility("PUBLIC")
    assert "private</span>" not in client.get("/").text


def test_the_first_page_has_a_next_one(client: httpx.Client) -> None:
    for number in range(21):
        Push(client, f"env-{number:02}", code=f"x = {number}").run()
    first = client.get("/")
    address = (
        first.text.partition('class="button" href="/?')[2].partition('"')[0].replace("&amp;", "&")
    )
    second = client.get(f"/?{address}")
    assert "ada/env-00" in second.text
    assert "ada/env-00" not in first.text


def test_data_of_a_push_is_what_the_page_shows(client: httpx.Client, word: Push) -> None:
    detail = data(client.get(f"{API}/environmentshub/ada/word/@latest"))
    page = client.get("/dashboard/environments/ada/word/versions")
    assert detail["content_hash"][:12] in page.text


@pytest.mark.parametrize("rewards", [("1e308", "1e308"), ("1e308", "-1e308"), ("1e160", "-1e160")])
def test_evaluation_with_huge_rewards_is_finalized_and_shown(
    client: httpx.Client, word: Push, rewards: tuple[str, str]
) -> None:
    evaluation = made(client)
    listed = ", ".join(f'{{"reward": {reward}}}' for reward in (*rewards, "0", "1"))
    content = f'{{"samples": [{listed}]}}'
    assert push_bytes(client, evaluation, content.encode()).status_code == 200
    assert client.get(f"/dashboard/evaluations/{evaluation}").status_code == 200
    assert finalize(client, evaluation).json()["avg_score"] == 0.5
    assert client.get(f"/dashboard/evaluations/{evaluation}").status_code == 200


@pytest.mark.parametrize("number", ["1e999", "9" * 5000])
def test_error_that_cannot_be_read_is_not_listed(
    client: httpx.Client, word: Push, number: str
) -> None:
    evaluation = made(client)
    content = f'{{"samples": [{{"error": {{"class": {number}}}}}, {{"error": "lost"}}]}}'
    assert push_bytes(client, evaluation, content.encode()).status_code == 200
    page = client.get(f"/dashboard/evaluations/{evaluation}")
    assert page.status_code == 200
    assert "Errors are listed for 1 of 2 samples" in page.text
