"""The tabs of an environment, each at an address of its own."""

import io
import zipfile
from typing import Any

import httpx
import pytest

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller
from prime_cli.hub.services.evaluations.leaderboard import read_leaderboard
from prime_cli.runs.statistics.intervals import precision
from prime_cli.wire.evaluations import HistoryQuery
from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import finalize
from tests.hub.evaluating import push as push_samples
from tests.hub.pushing import Push, make_sources, sha256
from tests.hub.routes.browsing import open_browser, signed_in
from tests.hub.routes.test_pages import API

PAGE = "/dashboard/environments/ada/word"
CODE = """
import os

KEY = os.environ["WORD_KEY"]
URL = "https://words.example.org/list"


def load_environment(difficulty: str = "easy", *, seed: int) -> None:
    '<script>'
"""

SCORED = """
def load_environment():
    def right(answer):
        return {}
    return Rubric(funcs=[right])
"""


@pytest.fixture
def word(client: httpx.Client) -> Push:
    Push(client, metadata={"description": "Guess"}).run()
    described = {"description": "Guess <words>", "tags": ["game", "a&b"], "dependencies": ["nltk"]}
    push = Push(client, version="0.2.0", code=CODE, metadata=described)
    push.wheel = with_module(push.wheel, CODE)
    return push.run()


def with_module(wheel: bytes, code: str) -> bytes:
    """The wheel with `code` as all of its module."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info, code if info.filename == "word.py" else old.read(info))
    return buffer.getvalue()


def evaluate(
    client: httpx.Client, push: Push, model: str, *rewards: float | None, **more: Any
) -> str:
    """The id of a public evaluation with one sample for each reward, None for an error."""
    asked = {
        "name": f"run of {model}",
        "environments": [{"id": push.environment_id}],
        "model_name": model,
        "is_public": True,
    }
    made = client.post(f"{API}/evaluations/", json=asked | more).raise_for_status().json()
    samples = [
        {"example_id": number, "reward": reward, "error": "broke" if reward is None else None}
        for number, reward in enumerate(rewards)
    ]
    address = f"{API}/evaluations/{made['evaluation_id']}"
    client.post(f"{address}/samples", json={"samples": samples}).raise_for_status()
    client.post(f"{address}/finalize", json={}).raise_for_status()
    return str(made["evaluation_id"])


def test_every_tab_has_the_head_and_leads_to_the_others(client: httpx.Client, word: Push) -> None:
    tabs = ("", "/@0.2.0/files", "/versions", "/evaluations", "/details")
    for tab in tabs:
        page = client.get(PAGE + tab)
        assert page.status_code == 200
        assert "Guess &lt;words&gt;" in page.text
        assert 'href="/?tag=a%26b">a&amp;b</a>' in page.text
        assert page.text.count('aria-current="page"') == 1
        for other in tabs:
            assert f'href="{PAGE}{other}' in page.text


def test_first_tab_says_how_every_tool_uses_it(client: httpx.Client, word: Push) -> None:
    text = client.get(PAGE).text
    assert "prime env install ada/word\n" in text
    assert f"ada/word@0.2.0#sha256={sha256(word.wheel)}" in text
    assert "load_environment(&#34;word&#34;)" in text
    assert "prime train ada/word -m MODEL --engine prime-rl" in text
    assert "uv add word==0.2.0 --index" in text


def test_an_older_version_says_which_is_the_newest(client: httpx.Client, word: Push) -> None:
    text = client.get(f"{PAGE}/@0.1.0").text
    assert "the newest is 0.2.0" in text
    assert f'href="{PAGE}/@0.1.0/details"' in text
    assert client.get(f"{PAGE}/@9.9.9").status_code == 404


def test_two_versions_are_compared_and_changed_reward_code_is_named(client: httpx.Client) -> None:
    for version, code in (("0.1.0", "1.0"), ("0.2.0", "2.0 if '<b>' else 0"), ("0.2.1", "2.0")):
        push = Push(client, version=version)
        push.wheel = with_module(push.wheel, SCORED.format(code))
        push.run()
    text = client.get(f"{PAGE}/versions", params={"from": "0.1.0", "to": "0.2.0"}).text
    assert "Scores are not comparable: reward code changed (word.load_environment.right)" in text
    assert "<td><code>word.load_environment.right</code></td><td>changed</td>" in text
    assert "<del>-        return 1.0\n</del>" in text
    assert "<ins>+        return 2.0 if &#x27;&lt;b&gt;&#x27; else 0\n</ins>" in text
    assert "prime env diff ada/word@0.1.0 ada/word@0.2.0" in text
    listed = client.get(f"{PAGE}/versions").text
    assert '<select name="from">' in listed
    assert "<option selected>0.2.0</option>" in listed
    assert "Scores are" not in listed


def test_versions_too_large_for_a_page_are_left_to_the_command(client: httpx.Client) -> None:
    for version in ("0.1.0", "0.2.0"):
        Push(client, version=version, code=f"x = '{'y' * 60_000}'\n").run()
    text = client.get(f"{PAGE}/versions?from=0.1.0&to=0.2.0").text
    assert "too large to be compared on a page" in text
    assert "prime env diff ada/word@0.1.0 ada/word@0.2.0" in text


def test_only_versions_that_exist_are_compared(client: httpx.Client, word: Push) -> None:
    assert client.get(f"{PAGE}/versions?from=0.1.0&to=9.9.9").status_code == 404
    assert client.get(f"{PAGE}/versions?from=0.1.0").status_code == 200


def test_a_private_environment_is_compared_for_its_readers_alone(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    Push(accounts_hub.client(accounts_hub.key("ada")), visibility="PRIVATE").run()
    address = f"{PAGE}/versions?from=0.1.0&to=0.1.0"
    owner, stranger = open_browser(accounts_hub), signed_in(accounts_hub, "bob")
    owner.sign_in(accounts_hub.key("ada"))
    assert "the content is identical" in owner.get(address).text
    assert stranger.get(address).status_code == 404


def test_details_say_what_the_source_reads_and_takes(client: httpx.Client, word: Push) -> None:
    text = client.get(f"{PAGE}/details").text
    assert "<td><code>difficulty</code></td><td><code>str</code></td>" in text
    assert "<td>required</td>" in text
    assert "<code>WORD_KEY</code>" in text
    assert "<code>words.example.org</code>" in text
    assert "<code>nltk</code>" in text
    assert "WORD_KEY" not in client.get(f"{PAGE}/@0.1.0/details").text


def test_source_too_large_for_a_page_is_left_to_the_command(client: httpx.Client) -> None:
    Push(client, "large", code=f"x = '{'y' * 100_000}'\n").run()
    text = client.get("/dashboard/environments/ada/large/details").text
    assert "too large to be read for a page" in text
    assert "prime env info ada/large" in text


def test_a_file_has_numbered_coloured_lines_that_are_escaped(
    client: httpx.Client, word: Push
) -> None:
    text = client.get(f"{PAGE}/@0.2.0/files/word.py").text
    assert '<span class="l" id="L2"><span class="kn">import</span>' in text
    assert "&lt;script&gt;" in text
    assert "<script>" not in text


def test_leaderboard_has_the_newest_run_of_each_model_best_first(
    client: httpx.Client, word: Push
) -> None:
    evaluate(client, word, "small", 0.0, 0.0)
    evaluate(client, word, "small", 0.0, 1.0)
    evaluate(client, word, "<large>", 1.0, 1.0, None)
    text = client.get(f"{PAGE}/evaluations").text
    assert text.index("&lt;large&gt;</a><br>") < text.index("small</a><br>")
    assert ">0.5<" in text
    assert text.count("small</a><br>") == 1
    assert '1 <span class="faint">(0.667 as 0)</span>' in text
    only = client.get(f"{PAGE}/evaluations", params={"model": "small"}).text
    assert "&lt;large&gt;</a><br>" not in only
    assert 'model=small" aria-current="true">small</a>' in only
    assert 'model=%3Clarge%3E">&lt;large&gt;</a>' in only
    none = client.get(f"{PAGE}/evaluations", params={"version": "0.1.0"}).text
    assert "No public evaluations of this choice." in none
    receipted = client.get(f"{PAGE}/evaluations", params={"receipts": "1"}).text
    assert "No public evaluations of this choice." in receipted


def test_leaderboard_may_have_nothing_but_a_baseline(client: httpx.Client, word: Push) -> None:
    evaluate(client, word, "builtin/echo", 0.0, 1.0)
    answer = client.get(f"{PAGE}/evaluations")
    assert answer.status_code == 200
    assert "Baselines: built-in models, not ranked" in answer.text


def test_leaderboard_shows_the_interval_of_the_samples_whatever_a_run_states(
    client: httpx.Client, word: Push
) -> None:
    def told(mean: float, cost: float = 0.0125) -> dict[str, Any]:
        reward = {"mean": mean, "interval": [0.25, 0.75]}
        own = {"usage": {"input": 1000, "output": 500}, "cost": cost}
        return {"prime": own, "prime_run": {"examples": 2, "reward": reward}}

    evaluate(client, word, "honest", 0.0, 1.0, metadata=told(0.5))
    evaluate(client, word, "proud", 0.0, 1.0, metadata=told(0.7))
    evaluate(client, word, "odd", 0.0, 1.0, metadata={"prime": 3, "prime_run": []})
    text = client.get(f"{PAGE}/evaluations").text
    assert "0.25 to 0.75" not in text
    assert text.count("0.0126 to 0.987") == 3
    assert "$0.013" in text
    assert "1,500" in text
    assert "Mean reward by cost" not in text  # of at least three costs
    evaluate(client, word, "cheap", 0.0, 1.0, metadata=told(0.5, 0.001))
    evaluate(client, word, "dear", 0.0, 1.0, metadata=told(0.5, 2.0))
    assert "Mean reward by cost: 4 points" in client.get(f"{PAGE}/evaluations").text


def test_leaderboard_and_card_have_the_interval_of_the_samples_until_more_are_pushed(
    client: httpx.Client, word: Push
) -> None:
    rewards = [0.0, 0.5, 1.0, 0.5, 0.0, 1.0, 0.5, 0.5]
    wanted = evaluate(client, word, "small", *rewards)
    interval = precision([[reward] for reward in rewards]).interval
    assert interval is not None
    said = f"{interval.low:.3f} to {interval.high:.3f}"
    assert said in client.get(f"{PAGE}/evaluations").text
    assert f"({said})" in client.get("/").text
    push_samples(client, wanted, [{"example_id": 99, "reward": 0.5}])
    assert said not in client.get(f"{PAGE}/evaluations").text
    finalize(client, wanted)
    wider = precision([[reward] for reward in [*rewards, 0.5]]).interval
    assert wider is not None
    assert f"{wider.low:.3f} to {wider.high:.3f}" in client.get(f"{PAGE}/evaluations").text


def test_evaluations_of_others_are_not_on_the_leaderboard(client: httpx.Client, word: Push) -> None:
    assert "No public evaluations yet." in client.get(f"{PAGE}/evaluations").text


def test_another_owner_takes_nobody_off_the_leaderboard(accounts_hub: AccountsHub) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    push = Push(ada, visibility="PUBLIC").run()
    evaluate(ada, push, "small", 1.0, 0.0)
    for _ in range(3):
        evaluate(eve, push, "small", 0.0)
    text = accounts_hub.client().get(PAGE + "/evaluations").text
    assert " by ada, " in text
    assert text.count(" by eve, ") == 1
    assert "rows with the highest means" not in text
    board = read_leaderboard(
        accounts_hub.hub, Caller(), EnvRef("ada", "word"), HistoryQuery(), most=1
    )
    assert board.is_cut
    assert [row.owner for row in board.rows] == ["ada"]


def test_cards_say_of_whom_and_how_many_samples_the_best_is_in_one_query(
    accounts_hub: AccountsHub,
) -> None:
    ada = accounts_hub.user("ada")
    for name in ("one", "two", "three"):
        evaluate(ada, Push(ada, name, visibility="PUBLIC").run(), "small", 1.0, 0.0)
    with accounts_hub.statements() as statements:
        text = accounts_hub.client().get("/").text
    assert text.count("(n = 2, run by ada)") == 3
    assert sum("average_reward" in each for each in statements) == 1


def test_all_of_a_file_is_there_as_text_beside_the_page_with_a_part(client: httpx.Client) -> None:
    push = Push(client)
    lines = "".join(f"line {number} <b>\n" for number in range(9_000))
    push.sources = make_sources({"pyproject.toml": "", "a b.txt": lines})
    push.run()

    page = client.get(f"{PAGE}/@0.1.0/files/a%20b.txt").text
    raw = client.get(f"{PAGE}/@0.1.0/raw/a%20b.txt")

    assert f'href="{PAGE}/@0.1.0/raw/a%20b.txt"' in page
    assert "line 1 &lt;b&gt;" in page
    assert "line 8999" not in page
    assert (raw.text, raw.headers["content-type"]) == (lines, "text/plain; charset=utf-8")
    assert raw.headers["content-security-policy"].startswith("sandbox")
    assert client.get(f"{PAGE}/@0.1.0/raw/none").status_code == 404
