"""What an environment's processes see of the user's variables."""

from prime_cli.runtime.variables import process_variables

QUIET = process_variables({})


def seen(base: dict[str, str], own: dict[str, str] | None = None) -> dict[str, str]:
    found = process_variables(base, own)
    return {name: value for name, value in found.items() if QUIET.get(name) != value}


def test_no_key_is_passed_on_unless_it_is_given_by_value() -> None:
    base = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "SERPER_KEY": "s", "PRIME_API_KEY": "p"}
    assert seen(base) == {"PATH": "/bin"}
    assert seen(base, {"SERPER_KEY": "s"}) == {"PATH": "/bin", "SERPER_KEY": "s"}


def test_proxies_locale_and_dataset_folders_are_passed_on() -> None:
    base = {"https_proxy": "http://p", "LC_CTYPE": "C.UTF-8", "HF_HOME": "/hf", "EDITOR": "vi"}
    assert seen(base) == {name: value for name, value in base.items() if name != "EDITOR"}


def test_what_is_given_by_value_wins() -> None:
    assert seen({"TZ": "UTC"}, {"TZ": "CET", "A": "1"}) == {"TZ": "CET", "A": "1"}


def test_libraries_are_told_to_draw_nothing_and_to_send_nothing() -> None:
    assert QUIET["TQDM_DISABLE"] == "1"
    assert QUIET["PRIME_TRACES_OPT_OUT"] == "1"
