import httpx
import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import EVALUATIONS, made, page, push, samples_of
from tests.hub.pushing import Push


@pytest.fixture
def evaluation(client: httpx.Client) -> str:
    """Ten samples: rewards 0.0 to 0.9, every third failed."""
    Push(client).run()
    made_here = made(client)
    push(
        client,
        made_here,
        [
            {"n": n, "reward": n / 10, "error": {"type": "x"} if n % 3 == 0 else None}
            for n in range(10)
        ],
    )
    return made_here


def numbers(client: httpx.Client, evaluation: str, query: str) -> list[int]:
    return [sample["n"] for sample in samples_of(client, evaluation, query)]


def test_pages_follow_each_other_without_gaps(client: httpx.Client, evaluation: str) -> None:
    found = []
    for number in range(1, 6):
        answer = page(client, evaluation, f"page={number}&limit=3")
        assert (answer["total"], answer["total_pages"], answer["page"]) == (10, 4, number)
        assert answer["has_more"] == answer["hasMore"] == (number < 4)
        found += [sample["n"] for sample in answer["samples"]]
    assert found == list(range(10))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("reward_below=0.3", [0, 1, 2]),
        ("reward_above=0.69", [7, 8, 9]),
        ("reward_above=0.1&reward_below=4e-1", [2, 3]),
        ("errors_only=true", [0, 3, 6, 9]),
        ("errors_only=true&reward_above=0.5", [6, 9]),
        ("errors_only=True&page=2&limit=2", [6, 9]),
        ("reward_above=1", []),
    ],
)
def test_filters_let_through_what_they_name(
    client: httpx.Client, evaluation: str, query: str, expected: list[int]
) -> None:
    assert numbers(client, evaluation, query) == expected


def test_total_is_of_what_the_filters_let_through(client: httpx.Client, evaluation: str) -> None:
    answer = page(client, evaluation, "errors_only=true&limit=3")
    assert (answer["total"], answer["total_pages"], answer["has_more"]) == (4, 2, True)
    answer = page(client, evaluation, "errors_only=true&limit=3&page=2")
    assert (len(answer["samples"]), answer["has_more"]) == (1, False)


@pytest.mark.parametrize("text", ["Émile", "100%", 'a "quote"', "under_score", "\u4f60"])
def test_text_is_found_however_it_was_written(client: httpx.Client, text: str) -> None:
    Push(client).run()
    evaluation = made(client)
    push(client, evaluation, [{"answer": f"… {text} …"}, {"answer": "underXscore 1000 mile"}])
    body = {"samples": [{"answer": f"{text}!"}]}
    client.post(f"{EVALUATIONS}/{evaluation}/samples", json=body).raise_for_status()
    answer = client.get(f"{EVALUATIONS}/{evaluation}/samples", params={"search": text})
    assert answer.json()["total"] == 2


@pytest.mark.parametrize(
    "query",
    ["page=0", "limit=0", "limit=1001", "reward_above=nan", "reward_below=1e999", "page=99999999"],
)
def test_pages_that_cannot_be_are_refused(
    client: httpx.Client, evaluation: str, query: str
) -> None:
    assert client.get(f"{EVALUATIONS}/{evaluation}/samples?{query}").status_code == 422


def test_page_of_large_samples_comes_in_parts(client: httpx.Client) -> None:
    Push(client).run()
    evaluation = made(client)
    for number in range(4):
        push(client, evaluation, [{"n": number, "text": "x" * 3_000_000}, {"n": -number}])
    with client.stream("GET", f"{EVALUATIONS}/{evaluation}/samples") as answer:
        largest = max(len(part) for part in answer.iter_raw())
    assert largest < 8_000_000
    assert numbers(client, evaluation, "") == [0, 0, 1, -1, 2, -2, 3, -3]


def test_page_costs_the_same_wherever_it_is(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    evaluation = made(ada)
    push(ada, evaluation, [{"n": n} for n in range(50)])
    with accounts_hub.statements() as seen:
        page(ada, evaluation, "page=25&limit=2")
    assert not [statement for statement in seen if "OFFSET" in statement]
