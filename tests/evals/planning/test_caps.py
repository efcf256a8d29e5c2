"""Caps are held before a run starts, and tell how it goes on."""

import pytest

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.planning.caps import budget_of, partial_at_cap, require_prices, require_room
from prime_cli.models.budget import Budget
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.price_book import PriceBook
from prime_cli.models.price_table import PriceTable, shipped_table
from prime_cli.models.prices import Price, Spend, Usage
from tests.evals.planning.test_estimate import wanted

BOOK = PriceBook(shipped_table(), PriceTable("none"))
MINI = Endpoint("gpt-4.1-mini", "https://api.openai.com/v1")
LOCAL = Endpoint("qwen", "http://127.0.0.1:8000/v1")


def test_without_a_cap_there_is_no_budget() -> None:
    assert budget_of(wanted()) is None
    budget = budget_of(wanted(max_cost=2.0, token_budget=5))
    assert budget is not None
    assert (budget.max_cost, budget.token_budget) == (2.0, 5)


def test_a_cap_in_usd_needs_the_price_of_every_endpoint_of_a_group() -> None:
    require_prices(None, LOCAL, BOOK)
    require_prices(1.0, MINI, BOOK)
    require_prices(1.0, Endpoint("builtin/oracle", builtin=True), BOOK)
    group = Endpoint(MINI.model, MINI.url, others=(LOCAL,))
    for endpoint in (LOCAL, group):
        with pytest.raises(UsageError, match=r"`qwen` at .* has no known price"):
            require_prices(1.0, endpoint, BOOK)


def test_what_earlier_sessions_spent_may_leave_no_room() -> None:
    spent = Spend.of(Usage(1, output=10**6), Price(0, 1.0))
    require_room(Budget(max_cost=1.5), spent, "1f2e3d4c", wanted(max_cost=1.5), Silent())
    with pytest.raises(PartialResult, match="is reached") as raised:
        require_room(Budget(max_cost=1.0), spent, "1f2e3d4c", wanted(max_cost=1.0), Silent())
    assert "--resume 1f2e3d4c --max-cost 2" in (raised.value.hint or "")


def test_earlier_calls_without_a_price_are_said_not_to_count() -> None:
    progress = Silent()
    unknown = Spend.of(Usage(3, output=10), None)
    require_room(Budget(max_cost=1.0), unknown, "1f2e3d4c", wanted(max_cost=1.0), progress)
    assert progress.warned == [
        "3 calls of earlier sessions have no known cost, so the cap does not count them"
    ]


@pytest.mark.parametrize(
    ("reason", "flag"),
    [
        ("The token budget of 100 is used up", " --token-budget 200"),
        ("The cap of $1.00 is reached", " --max-cost 2"),
        ("`big` at judges.example has no known price", ""),
    ],
)
def test_the_hint_raises_the_cap_that_was_reached(reason: str, flag: str) -> None:
    plan = wanted(max_cost=1.0, token_budget=100)
    hint = partial_at_cap(reason, "1f2e3d4c", plan).hint
    assert hint == f"go on with `prime eval run --resume 1f2e3d4c{flag}`"
