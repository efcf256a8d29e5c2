"""What an environment's processes see of the user's variables."""

import pytest

from prime_cli.runtime.variables import KnownKeys, share

QUIET = share({}).given
KEY = "k3y-of-the-runs-endpoint"


def seen(base: dict[str, str], own: dict[str, str] | None = None) -> dict[str, str]:
    found = share(base, own).given
    return {name: value for name, value in found.items() if QUIET.get(name) != value}


def test_ordinary_variables_are_given_as_they_are() -> None:
    base = {
        "GRADER_MODE": "strict",
        "EDITOR": "vi",
        "MAX_TOKENS": "512",
        "AWS_REGION": "eu-west-1",
        "MAIL": "ada@example.org",
        "JUDGE_URL": "https://judge.example.org:8443/v1?mode=strict",
        "PRIME_TEAM_ID": "lab",
        "LC_CTYPE": "C.UTF-8",
        "LESSOPEN": "| /usr/bin/lesspipe %s",
    }
    assert seen(base) == base


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "OPENAI_API_KEY_2",
        "openai_api_keys",
        "PRIME_API_KEY",
        "PRIME_HUB_DATABASE",
        "HF_TOKEN",
        "AWS_PROFILE",
        "AWS_SECRET_ACCESS_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "KUBECONFIG",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "HF_TOKEN_PATH",
        "AZURE_STORAGE_CONNECTION_STRING",
        "PGPASSFILE",
        "GPG_PASSPHRASE",
    ],
)
def test_what_is_named_as_a_secret_or_leads_to_one_is_withheld(name: str) -> None:
    variables = share({name: "x", "PATH": "/bin"})
    assert variables.secret == (name,)
    assert name not in variables.given
    assert share({name: "x"}, {name: "x"}).given[name] == "x"


@pytest.mark.parametrize(
    "value",
    [
        "postgres://ada:pw@db.example.org/wordle",
        "mongodb://ada:p%40ss@one,two/wordle",
        "https://glpat-token@git.example.org/simple",
        "host=db dbname=wordle password=hunter22",
        "DefaultEndpointsProtocol=https;AccountKey=abc==",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
        f"Bearer {KEY}",
        KEY,
    ],
)
def test_a_credential_is_known_by_its_value_under_any_name(value: str) -> None:
    variables = share({"THING": value}, keys=KnownKeys(values=frozenset({KEY})))
    assert variables.secret == ("THING",)


def test_the_value_of_a_key_is_withheld_under_other_names_too() -> None:
    base = {"JUDGE_KEY": "0123456789abcdefg", "COPY": "0123456789abcdefg", "N": "0123456789"}
    assert share(base).secret == ("COPY", "JUDGE_KEY")


def test_a_variable_that_the_registry_names_is_withheld() -> None:
    keys = KnownKeys(names=frozenset({"LLM"}), values=frozenset({"EMPTY"}))
    variables = share({"LLM": "x", "OTHER": "EMPTY"}, keys=keys)
    assert variables.secret == ("LLM",)


def test_a_proxy_is_given_with_its_password_as_there_is_no_network_without() -> None:
    base = {"https_proxy": "http://ada:planted@proxy:3128"}
    assert seen(base) == base


def test_variables_of_primes_own_python_are_removed_and_not_secret() -> None:
    variables = share({"PYTHONPATH": "/mine", "PYTHONHOME": "/usr", "VIRTUAL_ENV": "/v"})
    assert variables.others == ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")
    assert variables.secret == ()


def test_within_walls_an_allow_list_is_given_and_the_rest_is_known() -> None:
    base = {"PATH": "/bin", "GRADER_MODE": "strict", "HF_TOKEN": "x", "NAMED": "1"}
    variables = share(base, {"NAMED": "1"}, sandboxed=True)
    assert variables.given.keys() - QUIET.keys() == {"PATH", "NAMED"}
    assert (variables.secret, variables.others) == (("HF_TOKEN",), ("GRADER_MODE",))


def test_what_is_given_by_value_wins() -> None:
    assert seen({"TZ": "UTC"}, {"TZ": "CET", "A": "1"}) == {"TZ": "CET", "A": "1"}


def test_libraries_are_set_to_draw_and_send_nothing() -> None:
    assert QUIET["TQDM_DISABLE"] == "1"
    assert QUIET["PRIME_TRACES_OPT_OUT"] == "1"
