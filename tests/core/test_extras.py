import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.extras import require


def test_what_is_installed_is_not_asked_for() -> None:
    require("hf", "Reading JSON", "json", "csv")


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(UsageError) as caught:
        require("hf", "Writing Parquet", "json", "no_such_module", "nor_this_one")
    assert caught.value.message == (
        "Writing Parquet needs no_such_module and nor_this_one, which are not installed"
    )
    assert "pip install 'prime-cli[hf]'" in (caught.value.hint or "")
