"""Evaluations beside each other, and their rollouts."""

import importlib.util
from importlib.machinery import ModuleSpec
from typing import Any

import httpx
import pytest

from prime_cli.runs.comparison.compare import CompareOptions, compare_all
from prime_cli.runs.comparison.sides import Side, gather
from prime_cli.runs.vf_eval_reader import number_rows
from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import change, finished, push
from tests.hub.pushing import HUB, Push
from tests.hub.routes.browsing import open_browser, signed_in

COMPARE = "/dashboard/compare"


@pytest.fixture
def word(client: httpx.Client) -> Push:
    return Push(client).run()


def samples(right: int, *, of: int = 30, prompt: str = "Guess") -> list[dict[str, Any]]:
    return [
        {
            "example_id": number,
            "rollout_number": 0,
            "prompt": f"{prompt} {number}",
            "completion": f"the answer to {number}",
            "reward": float(number < right),
        }
        for number in range(of)
    ]


def evaluate(client: httpx.Client, model: str, given: list[dict[str, Any]], **more: Any) -> str:
    said = {"model_name": model, "name": f"word-{model}", "is_public": True} | more
    return finished(client, given, **said)


def address(*ids: str, position: str = "", **more: Any) -> httpx.URL:
    path = f"{COMPARE}/{position}" if position else COMPARE
    return httpx.URL(path, params={"evaluation": list(ids)} | more)


def text_of(client: httpx.Client, url: httpx.URL) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_evaluations_have_the_verdicts_of_the_command(client: httpx.Client, word: Push) -> None:
    given = {"small": samples(5), "medium": samples(27), "large": samples(28)}
    ids = [evaluate(client, model, each) for model, each in given.items()]
    sides = [
        Side(f"word-{model}", "word", model, gather(number_rows(each, len(each))))
        for model, each in given.items()
    ]
    expected = compare_all([(sides[0], each) for each in sides[1:]], CompareOptions())

    text = text_of(client, address(*ids))

    for each in expected:
        assert each.sentence in text
        assert f'<td class="number">{each.difference:+.3f}</td>' in text
        assert f'<td class="number">{each.p_adjusted:.3g}</td>' in text
    assert "23 of 30 examples have a different mean reward" in text
    assert f"prime eval compare {' '.join(ids)}" in text
    assert text_of(client, address(*ids)) == text
    alone = compare_all([(sides[0], sides[2])], CompareOptions())[0]
    assert alone.sentence in text_of(client, address(ids[0], ids[2]))


def test_examples_that_changed_come_first_and_lead_to_their_rollouts(
    client: httpx.Client, word: Push
) -> None:
    ids = [evaluate(client, model, samples(n, of=150)) for model, n in (("a", 3), ("b", 4))]

    first, second = (text_of(client, address(*ids, page=page)) for page in (1, 2))
    beside = text_of(client, address(*ids, position="3.0"))

    assert first.index(f"{COMPARE}/3.0?") < first.index(f"{COMPARE}/0.0?")
    assert f"{COMPARE}/149.0?" not in first
    assert f"{COMPARE}/149.0?" in second
    assert beside.count("the answer to 3<") == 2
    assert f"prime eval samples {ids[1]} -n 1 -p 4" in beside


def test_rollouts_are_found_whatever_order_they_were_pushed_in(
    client: httpx.Client, word: Push
) -> None:
    def two(order: list[int]) -> list[dict[str, Any]]:
        every = [
            {"example_id": n // 2, "rollout_number": n % 2, "completion": f"<{n}>", "reward": 1.0}
            for n in range(6)
        ]
        return [every[n] for n in order]

    ids = [
        evaluate(client, "a", two([0, 1, 2, 3, 4, 5])),
        evaluate(client, "b", two([5, 3, 1, 4, 0])),
    ]

    assert text_of(client, address(*ids, position="1.1")).count("&lt;3&gt;") == 2
    lacking = text_of(client, address(*ids, position="1.0"))
    assert "This evaluation has no such rollout" in lacking
    assert "Rollout 1</a>" in lacking


def test_one_evaluation_is_asked_what_it_is_compared_with(client: httpx.Client, word: Push) -> None:
    one = evaluate(client, "one", samples(1))
    assert "There is no other finished evaluation" in text_of(client, address(one))
    other = evaluate(client, "other", samples(2))

    text = text_of(client, address(one, one))

    assert f'type="hidden" name="evaluation" value="{one}"' in text
    assert text.count(other) == 2
    assert f"{COMPARE}?evaluation={one}" in client.get(f"/dashboard/evaluations/{one}").text
    board = client.get("/dashboard/environments/ada/word/evaluations").text
    assert board.count('type="checkbox" name="evaluation"') == 2


def test_two_to_four_are_compared(client: httpx.Client, word: Push) -> None:
    ids = [evaluate(client, f"m{n}", samples(n)) for n in range(5)]
    assert "m3" in text_of(client, address(*ids[:4]))
    assert "Choose two to four evaluations" in text_of(client, address(*ids))
    assert "Choose two to four in the" in text_of(client, httpx.URL(COMPARE))
    assert client.get(address(*ids, position="0.0")).status_code == 422
    assert client.get(address(ids[0], position="0.0")).status_code == 422


@pytest.mark.parametrize("position", ["0", "x.0", f"{'9' * 5000}.0"])
def test_a_position_that_is_none_is_refused(
    client: httpx.Client, word: Push, position: str
) -> None:
    ids = [evaluate(client, model, samples(1)) for model in "ab"]
    assert client.get(address(*ids, position=position)).status_code == 422


@pytest.mark.parametrize("position", ["", "0.0"])
def test_private_and_unknown_evaluations_are_not_found_alike(
    accounts_hub: AccountsHub, position: str
) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    public, private = (
        evaluate(ada, model, samples(3), is_public=public)
        for model, public in (("seen", True), ("secret-9b", False))
    )
    owner, stranger = open_browser(accounts_hub), signed_in(accounts_hub, "bob")
    owner.sign_in(accounts_hub.key("ada"))
    nobody = accounts_hub.client()
    unknown = "0" * len(private)

    assert owner.get(str(address(public, private, position=position))).status_code == 200
    for url in (address(public, private, position=position), address(private, position=position)):
        for reader in (stranger, nobody):
            found = reader.get(str(url))
            other = reader.get(str(url).replace(private, unknown))
            assert found.status_code == other.status_code
            assert found.status_code == (422 if position and "&" not in str(url) else 404)
            assert found.text.replace(private, unknown) == other.text
            assert "secret-9b" not in found.text


def test_an_evaluation_that_became_private_is_not_shown_from_memory(
    accounts_hub: AccountsHub,
) -> None:
    ada, nobody = accounts_hub.user("ada"), accounts_hub.client()
    Push(ada).run()
    ids = [evaluate(ada, model, samples(3)) for model in ("one", "other")]
    assert nobody.get(address(*ids)).status_code == 200
    change(ada, ids[1], is_public=False)
    assert nobody.get(address(*ids)).status_code == 404
    assert nobody.get(address(*ids, position="0.0")).status_code == 404


def test_a_comparison_follows_what_is_pushed(client: httpx.Client, word: Push) -> None:
    one, other = evaluate(client, "one", samples(3)), evaluate(client, "other", samples(3))
    assert "0 of 30 examples" in text_of(client, address(one, other))
    again = [each | {"reward": 1.0, "attempt": 2} for each in samples(3)[-2:]]
    assert push(client, other, again).status_code == 200
    assert "2 of 30 examples" in text_of(client, address(one, other))


def test_without_scipy_the_examples_are_shown_and_the_page_says_so(
    client: httpx.Client, word: Push, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [evaluate(client, model, samples(n)) for model, n in (("a", 3), ("b", 9))]
    known = importlib.util.find_spec

    def without_scipy(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "scipy" else known(name, package)

    monkeypatch.setattr("prime_cli.core.installation.find_spec", without_scipy)

    text = text_of(client, address(*ids))

    assert "Comparing evaluations needs scipy, which is not installed" in text
    assert "6 of 30 examples" in text


@pytest.mark.parametrize(
    ("large", "sentence"),
    [
        ([{"example_id": n, "reward": 1.0} for n in range(5_001)], "5,001 samples are more"),
        (
            [{"example_id": n, "reward": 1.0, "info": "x" * 1_000_000} for n in range(9)],
            "Samples of 9.0 MB are more",
        ),
    ],
)
def test_large_evaluations_are_left_to_the_command(
    client: httpx.Client, word: Push, large: list[dict[str, Any]], sentence: str
) -> None:
    ids = [evaluate(client, "small", samples(3)), evaluate(client, "large", large)]
    text = text_of(client, address(*ids))
    assert f"word-large: {sentence}" in text
    assert f"prime eval get {ids[1]} --save" in text
    assert sentence in text_of(client, address(*ids, position="0.0"))


def test_evaluations_of_other_examples_are_compared_where_they_are_alike(
    client: httpx.Client, word: Push
) -> None:
    mixed = samples(9)[:20] + samples(9, prompt="Say")[20:]
    ids = [evaluate(client, "a", samples(3)), evaluate(client, "b", mixed)]

    refused = text_of(client, address(*ids))
    forced = text_of(client, address(*ids, force=1))

    assert "10 of 30 examples of word-b have other prompts than in word-a" in refused
    assert f"{COMPARE}?evaluation={ids[0]}&amp;evaluation={ids[1]}&amp;force=1" in refused
    assert "20 examples" in forced
    assert f"prime eval compare {' '.join(ids)} --force" in forced


def test_evaluations_of_two_versions_are_of_different_wheels(client: httpx.Client) -> None:
    ids = []
    for version in ("0.1.0", "0.2.0"):
        Push(client, version=version, code=f"VERSION = '{version}'\n").run()
        found = client.get(f"{HUB}/ada/word/@{version}").json()["data"]
        of = [{"id": found["id"], "version_id": found["version_id"]}]
        ids.append(evaluate(client, "same", samples(3), environments=of))
    text = text_of(client, address(*ids))
    assert "are different wheels" in text
    assert f"word-same ({ids[0]})" in text
    assert "not decisive" in text_of(client, address(*ids, force=1))


def test_hostile_evaluations_are_inert(client: httpx.Client, word: Push) -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    given = [
        {"example_id": hostile, "prompt": hostile, "completion": hostile, "reward": number}
        for number in (1e308, -1e308)
    ]
    more = {"name": hostile, "metadata": {"prime_run": {"schema": hostile}, hostile: hostile}}
    ids = [evaluate(client, hostile, given, **more) for _ in range(2)]
    for url in (address(*ids), address(*ids, position="0.0"), address(ids[0])):
        text = text_of(client, url)
        assert "alert(1)" in text
        assert "<script>" not in text
        assert "<img" not in text
