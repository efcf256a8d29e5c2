"""`prime eval prices` shows the tables in force."""

from pathlib import Path

from tests.helpers.cli import Prime


def test_a_models_price_is_shown_with_its_source(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "prices", "gpt-4.1-mini", "--output", "json", cwd=tmp_path)
    assert result.code == 0
    (price,) = result.json["prices"]
    assert (price["input"], price["cached"], price["output"]) == (0.4, 0.1, 1.6)
    assert price["host"] == "api.openai.com"
    assert price["source"]


def test_the_users_own_price_comes_first(prime: Prime, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('[[price]]\nmodel = "gpt-4.1*"\ninput = 1\noutput = 2')
    argv = ("eval", "prices", "gpt-4.1-mini", "--output", "json")
    result = prime(*argv, cwd=tmp_path, env={"PRIME_HOME": str(tmp_path)})
    assert [price["input"] for price in result.json["prices"]] == [1.0, 0.4]


def test_an_unknown_model_has_no_price_and_a_hint(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "prices", "nobody-knows", cwd=tmp_path)
    assert result.code == 0
    assert "prices.toml" in result.err
