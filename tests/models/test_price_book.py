"""Tables of prices: which row holds for a model, and what a user may write."""

from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.price_book import (
    PriceBook,
    PriceTable,
    shipped_table,
    stated_price,
    user_table,
)
from prime_cli.models.prices import Price

OPENAI = "https://api.openai.com/v1"
HERE = "http://127.0.0.1:8000/v1"


def own(folder: Path, text: str) -> PriceTable:
    path = folder / "prices.toml"
    path.write_text(text)
    return user_table(path)


def price(book: PriceBook, model: str, url: str = OPENAI) -> Price | None:
    return book.price_of(Endpoint(model, url))


def test_every_shipped_price_has_a_host_a_source_and_the_day_it_was_seen() -> None:
    table = shipped_table()
    assert table.date
    for row in table.rows:
        assert row.host
        assert row.seen
        assert row.seen <= table.date
        assert row.price.source
        assert 0 < row.price.input <= row.price.output
        assert row.price.cached is None or row.price.cached < row.price.input


def test_a_dated_snapshot_costs_as_its_model_and_another_size_does_not() -> None:
    book = PriceBook(shipped_table(), PriceTable("none"))
    mini = price(book, "gpt-4.1-mini")
    assert mini is not None
    assert price(book, "gpt-4.1-mini-2025-04-14") == mini != price(book, "gpt-4.1")
    assert price(book, "gpt-4.1-huge") is None


def test_a_shipped_price_is_that_of_its_host_alone() -> None:
    book = PriceBook(shipped_table(), PriceTable("none"))
    assert price(book, "gpt-4.1-mini", "https://proxy.example/v1") is None
    assert price(book, "gpt-4.1-mini", HERE) is None


def test_the_users_table_wins_and_adds(tmp_path: Path) -> None:
    table = own(
        tmp_path,
        """
        [[price]]
        model = "gpt-4.1-*"
        input = 1
        output = 2
        source = "our contract"
        [[price]]
        model = "org/model"
        host = "127.0.0.1:8000"
        input = 0
        output = 0.5
        """,
    )
    book = PriceBook(shipped_table(), table)
    assert price(book, "gpt-4.1-mini") == Price(1, 2, None, "our contract")
    assert price(book, "org/model", HERE) == Price(0, 0.5, None, table.name)
    assert price(book, "org/model", "http://127.0.0.1:9000/v1") is None


def test_the_row_that_spells_the_name_out_wins_over_a_pattern(tmp_path: Path) -> None:
    table = own(
        tmp_path,
        """
        price = [
            {model = "m*", input = 1, output = 1},
            {model = "m1", input = 2, output = 2},
            {model = "m1", host = "127.0.0.1", input = 3, output = 3},
        ]
        """,
    )
    book = PriceBook(PriceTable("none"), table)
    assert price(book, "m1", HERE) == Price(3, 3, None, table.name)
    assert price(book, "m1") == Price(2, 2, None, table.name)
    assert price(book, "m2") == Price(1, 1, None, table.name)


def test_the_registrys_price_wins_over_all(tmp_path: Path) -> None:
    book = PriceBook(shipped_table(), own(tmp_path, ""))
    stated = Price(9, 9)
    assert book.price_of(Endpoint("gpt-4.1", OPENAI, price=stated)) is stated


def test_an_endpoints_own_price_is_the_default() -> None:
    remote = "https://models.example/v1"
    said = {(remote, "m"): Price(1, 2), (HERE, "m"): Price(1, 2)}
    book = PriceBook(shipped_table(), PriceTable("none")).with_stated(said)
    assert price(book, "m", remote) == Price(1, 2)
    assert price(book, "m", HERE) is None


def test_a_run_keeps_the_prices_that_were_used_and_the_tables_digests(tmp_path: Path) -> None:
    book = PriceBook(shipped_table(), own(tmp_path, "# nothing\n"))
    price(book, "gpt-4.1-mini")
    price(book, "nobody-knows")
    record = book.record()
    assert record.date == shipped_table().date
    assert len(record.shipped or "") == len(record.own or "") == 64
    assert [(used.model, used.host, used.input) for used in record.used] == [
        ("gpt-4.1-mini", "api.openai.com", 0.4)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[price]\n", "not TOML"),
        ("price = 5", "must be a list"),
        ("[[price]]\ninput = 1\noutput = 2", "no `model`"),
        ('[[price]]\nmodel = "m"\ninput = 1', "`output`"),
        ('[[price]]\nmodel = "m"\ninput = "1"\noutput = 2', "`input`"),
        ('[[price]]\nmodel = "m"\ninput = -1\noutput = 2', "-1"),
        ('[[price]]\nmodel = "m"\ninput = nan\noutput = 2', "nan"),
        ('[[price]]\nmodel = "m"\nhost = 5\ninput = 1\noutput = 2', "`host`"),
    ],
)
def test_an_invalid_table_is_refused_by_name(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"prices\.toml") as caught:
        own(tmp_path, text)
    assert said in caught.value.message


def test_a_missing_table_is_fine(tmp_path: Path) -> None:
    assert user_table(tmp_path / "prices.toml").rows == ()


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        ({"prompt": "0.000002", "completion": "0.000008"}, (2.0, 8.0, None)),
        ({"prompt": "0", "completion": "0"}, (0.0, 0.0, None)),
        (
            {"prompt": "0.000001", "completion": "0.000002", "input_cache_read": "0.0000001"},
            (1.0, 2.0, 0.1),
        ),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "0.000001", "completion": "0.000002", "request": "0.01"}, None),
        ({"prompt": "0.000001", "completion": "1e-6", "internal_reasoning": "2e-6"}, None),
        ({"prompt": "cheap", "completion": "0"}, None),
        ("free", None),
        ({"input_usd_per_mtok": 0.2, "output_usd_per_mtok": 0.6}, (0.2, 0.6, None)),
        ({"input_usd_per_mtok": "nan", "output_usd_per_mtok": 0.6}, None),
        ({"input_usd_per_mtok": -1, "output_usd_per_mtok": 0.6}, None),
        (None, None),
    ],
)
def test_a_stated_price_is_used_only_if_tokens_decide_the_cost(
    pricing: object, expected: tuple[float, float, float | None] | None
) -> None:
    found = stated_price(pricing, "models.example")
    assert (found and (found.input, found.output, found.cached)) == expected


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("gpt-5.4-mini", OPENAI),
        ("claude-haiku-4-5", "https://api.anthropic.com/v1"),
        ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("grok-4.7", "https://api.x.ai/v1"),
        ("openai/gpt-oss-120b", "https://api.groq.com/openai/v1"),
        ("codestral-latest", "https://api.mistral.ai/v1"),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "https://api.together.xyz/v1"),
    ],
)
def test_the_common_services_have_prices(model: str, url: str) -> None:
    assert price(PriceBook(shipped_table(), PriceTable("none")), model, url) is not None
