import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.extras import command_from, install_command, require


def test_what_is_installed_is_not_asked_for() -> None:
    require("hf", "Reading JSON", "json", "csv")


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(UsageError) as caught:
        require("hf", "Writing Parquet", "json", "no_such_module", "nor_this_one")
    assert caught.value.message == (
        "Writing Parquet needs no_such_module and nor_this_one, which are not installed"
    )
    assert install_command("hf") in (caught.value.hint or "")


def test_an_extra_is_installed_from_where_prime_was() -> None:
    checkout = {"url": "file:///home/ada/my%20prime", "dir_info": {}}
    assert command_from(checkout, "tui") == "pip install '/home/ada/my prime[tui]'"
    editable = checkout | {"dir_info": {"editable": True}}
    assert command_from(editable, "tui") == "pip install -e '/home/ada/my prime[tui]'"
    assert command_from({}, "tui") == "pip install 'prime-cli[tui]'"
