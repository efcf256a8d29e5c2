"""Who decides: flags over variables over config.toml over defaults; every value has a source."""

from pathlib import Path

import pytest

from prime_cli.core.config import PRIME_API_URL, load_config
from prime_cli.core.config.contexts import Context, default_context_name
from prime_cli.core.config.edit import set_entry
from prime_cli.core.config.settings import find_setting
from prime_cli.core.credentials import find_credential
from prime_cli.core.errors import NotFound, StorageFailed, UsageError

TEAM = '[contexts.team]\nbase_url = "https://hub.example.org/api/v1/"\n'


@pytest.fixture
def file(home: Path) -> Path:
    path = home / ".prime" / "config.toml"
    path.parent.mkdir()
    return path


def test_without_any_setting_the_hub_is_the_one_in_the_box(home: Path) -> None:
    context = load_config().context
    assert (context.name, context.embedded, context.source) == ("local", True, "default")
    assert not (home / ".prime").exists()


@pytest.mark.parametrize(
    ("flag", "variables", "text", "name", "base_url", "source"),
    [
        ("local", {"PRIME_CONTEXT": "prime"}, "", "local", None, "--context"),
        (None, {"PRIME_CONTEXT": "team"}, TEAM, "team", "https://hub.example.org", "PRIME_CONTEXT"),
        (
            None,
            {"PRIME_API_BASE_URL": "http://127.0.0.1:9/api/v1", "PRIME_API_KEY": "k"},
            'context = "team"\n' + TEAM,
            "PRIME_API_BASE_URL",
            "http://127.0.0.1:9",
            "PRIME_API_BASE_URL",
        ),
        (None, {"PRIME_API_KEY": "k"}, "", "prime", PRIME_API_URL, "PRIME_API_KEY"),
    ],
)
def test_the_nearer_setting_decides_the_hub(
    flag: str | None,
    variables: dict[str, str],
    text: str,
    name: str,
    base_url: str | None,
    source: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file.write_text(text, encoding="utf-8")
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    context = load_config(context=flag).context
    assert (context.name, context.base_url, context.source) == (name, base_url, source)


def test_the_current_context_of_the_file_names_the_file(file: Path) -> None:
    file.write_text('context = "team"\n' + TEAM, encoding="utf-8")
    context = load_config().context
    assert (context.name, context.source) == ("team", str(file))


def test_the_public_key_is_not_sent_to_another_hub(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(TEAM, encoding="utf-8")
    monkeypatch.setenv("PRIME_API_KEY", "secret")
    keys = {n: find_credential(load_config(context=n)).key for n in ("team", "prime", "local")}
    assert keys == {"team": None, "prime": "secret", "local": None}


@pytest.mark.parametrize(
    ("url", "contexts"),
    [
        (None, {"prime"}),
        ("https://hub.example.org/", {"team"}),
        ("https://HUB.example.org/api/v1", {"team"}),
        ("https://hub.example.org:8443", set()),
        ("http://hub.example.org", set()),
        (PRIME_API_URL, {"prime"}),
    ],
)
def test_the_key_of_the_variable_is_that_of_the_public_hub_or_of_the_address_beside_it(
    url: str | None, contexts: set[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(TEAM, encoding="utf-8")
    monkeypatch.setenv("PRIME_API_KEY", "secret")
    if url:
        monkeypatch.setenv("PRIME_API_BASE_URL", url)
    named = ("team", "prime", "local")
    assert {n for n in named if find_credential(load_config(context=n)).key} == contexts
    assert find_credential(load_config()).key == "secret"


@pytest.mark.parametrize("variable", ["PRIME_API_BASE_URL", "PRIME_UPSTREAM"])
def test_an_address_with_a_password_is_refused_and_not_repeated(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "https://__token__:prime_sk_planted@hub.example.org")
    with pytest.raises(UsageError) as caught:
        load_config()
    assert caught.value.message == f"{variable} contains a name or a password"


def test_a_value_knows_what_it_hides_in_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(f'owner = "eve"\ncontext = "team"\n{TEAM}', encoding="utf-8")
    monkeypatch.setenv("PRIME_CONTEXT", "prime")
    found = {each.name: (each.source, each.shadows) for each in load_config().settings()}
    assert found["owner"] == ("PRIME_OWNER", "eve")
    assert found["context"] == ("PRIME_CONTEXT", "team")
    assert found["storage"] == ("default", None)


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "secret")
    config = load_config()
    assert "secret" not in repr(config)
    assert "secret" not in repr(config.settings())
    assert "secret" not in repr(find_credential(config))


def test_an_unknown_context_names_the_known_ones(file: Path) -> None:
    file.write_text(TEAM, encoding="utf-8")
    with pytest.raises(NotFound) as caught:
        load_config(context="taem")
    assert caught.value.hint == "known contexts: local, prime, team; see `prime context list`"


@pytest.mark.parametrize(
    ("variables", "text", "value", "source"),
    [
        ({"PRIME_OWNER": "grace"}, 'owner = "eve"', "grace", "PRIME_OWNER"),
        ({"LOGNAME": "Ada L."}, "", "ada-l", "system user"),
    ],
)
def test_the_owner_is_a_variable_or_the_system_user(
    variables: dict[str, str],
    text: str,
    value: str,
    source: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file.write_text(text, encoding="utf-8")
    monkeypatch.delenv("PRIME_OWNER")
    for name, setting in variables.items():
        monkeypatch.setenv(name, setting)
    owner = load_config().owner
    assert (owner.value, owner.source) == (value, source)


def test_the_owner_of_the_file_comes_before_the_system_user(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIME_OWNER")
    file.write_text('owner = "eve"', encoding="utf-8")
    assert load_config().owner.value == "eve"


@pytest.mark.parametrize(
    ("name", "hint"), [("Ada Lovelace", "write `ada-lovelace`"), ("starter", "choose another")]
)
def test_an_owner_that_cannot_be_is_refused(
    name: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_OWNER", name)
    with pytest.raises(UsageError) as caught:
        load_config()
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("flag", "word", "offline"),
    [
        (None, "1", True),
        (None, "0", False),
        (None, "no", False),
        (True, "0", True),
    ],
)
def test_offline_is_a_flag_or_a_variable(
    flag: bool | None, word: str, offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_OFFLINE", word)
    assert load_config(offline=flag).offline is offline


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("owner = ", "is not valid TOML"),
        ("owner = 3", "owner in .* must be a string"),
        ("context = 3", "context in .* must be a string"),
        ("offline = 'yes'", "offline in .* must be true or false"),
        ("upstream = 'hub'", "upstream in .* is `hub`, which is not the URL"),
        ("context = 'team'\n[contexts.team]\n", "has no base_url"),
    ],
)
def test_a_broken_file_is_reported_in_a_sentence(
    text: str, sentence: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIME_OWNER")
    monkeypatch.delenv("PRIME_UPSTREAM")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        load_config()


def test_a_file_that_cannot_be_read_is_reported(file: Path) -> None:
    file.mkdir()
    with pytest.raises(StorageFailed, match="cannot be read"):
        load_config()


def test_an_address_that_is_not_a_url_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", "hub.example.org")
    with pytest.raises(UsageError, match=r"PRIME_API_BASE_URL is `hub\.example\.org`"):
        load_config()


def test_variables_of_an_environment_are_a_table_and_shown(file: Path) -> None:
    set_entry(file, "env_vars", "ada/wordle", ["A_KEY", "B_KEY"])
    assert '[env_vars]\n"ada/wordle" = ["A_KEY", "B_KEY"]\n' in file.read_text(encoding="utf-8")
    (shown,) = load_config().env_vars.values()
    assert (shown.name, shown.value) == ("env_vars.ada/wordle", ("A_KEY", "B_KEY"))
    assert shown in load_config().settings()
    set_entry(file, "env_vars", "ada/wordle", None)
    assert load_config().env_vars == {}
    assert "env_vars" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["env_vars = 1\n", '[env_vars]\n"ada/w" = "A=1"\n'])
def test_variables_that_are_written_otherwise_are_refused(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="env_vars"):
        load_config()


def test_a_setting_of_an_environment_is_found_by_its_name() -> None:
    known = find_setting("env-vars.ada/wordle")
    assert known.name == "env_vars.ada/wordle"
    assert known.to_toml("A_KEY, B_KEY") == ["A_KEY", "B_KEY"]
    with pytest.raises(UsageError, match="is not a variable name"):
        known.to_toml("A=secret")
    with pytest.raises(UsageError, match="is not an environment"):
        find_setting("env-vars.a/b/c")


@pytest.mark.parametrize(
    ("hub", "pages", "told", "shown"),
    [
        ("http://10.0.0.5:8480", None, "http://a1b2c3:8480/e/1", "http://10.0.0.5:8480/e/1"),
        ("http://h:1", "https://www.h", "http://h:1/e?x=1", "https://www.h/e?x=1"),
        (
            PRIME_API_URL,
            "https://app.example",
            "https://there.example/e",
            "https://there.example/e",
        ),
    ],
)
def test_a_page_is_shown_at_the_address_that_this_machine_has_for_the_hub(
    hub: str, pages: str | None, told: str, shown: str
) -> None:
    assert Context("team", hub, pages or hub, "test").page(told) == shown


def test_pages_of_a_hub_without_addresses_are_shown_unchanged() -> None:
    assert Context("box", None, None, "test").page("http://h/e") == "http://h/e"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.primeintellect.ai", "prime"),
        ("https://hub.example.org", "hub.example.org"),
        ("http://127.0.0.1:8000", "127.0.0.1-8000"),
        ("http://[::1]:8000", "1-8000"),
    ],
)
def test_a_context_is_named_after_its_host(url: str, name: str) -> None:
    assert default_context_name(url) == name
