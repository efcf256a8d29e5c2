"""`--model "$MODEL"` with an unset variable is refused, in every command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from prime_cli import Hub
from prime_cli.commands import app
from prime_cli.commands.base import LazyCommand, load
from prime_cli.core.config import load_config
from prime_cli.core.errors import UsageError
from prime_cli.models.endpoint_resolution import resolve_endpoint
from prime_cli.models.registry import Registry, load_registry
from tests.helpers.cli import Prime

NONE = Registry(Path("endpoints.toml"), (), False)


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, also those that are not listed, with its words."""
    found = load(command.target) if isinstance(command, LazyCommand) else command
    for name, member in getattr(found, "commands", {}).items():
        yield from leaves(member, (*path, name))
    if not hasattr(found, "commands"):
        yield path, found


def empty_values(command: Any) -> Iterator[tuple[str, ...]]:
    """The words that give each option, and the first argument, an empty value."""
    for each in command.params:
        is_option = each.param_type_name == "option"
        is_optional = is_option and (each.metavar or "").startswith("[")
        if not is_option or is_optional or each.is_flag or each.count:
            continue
        yield from ((name, "") for name in each.opts if not name.startswith("---"))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    if arguments and "-- " not in (arguments[0].metavar or ""):
        yield ("",)


def test_no_command_takes_an_empty_value_for_one_that_was_not_given(prime: Prime) -> None:
    tried = 0
    for path, command in leaves(typer.main.get_command(app)):
        for words in empty_values(command):
            result = prime(*path, *words)
            assert (result.code, result.out) == (2, ""), (path, words)
            assert "` is empty\nhint: give it a value, or omit it" in result.err, (path, words)
            tried += 1
    assert tried > 1500


def test_an_option_of_all_commands_is_no_exception(prime: Prime) -> None:
    assert "`--context` is empty" in prime("--context", "", "env", "list").err


def test_words_for_another_program_may_be_empty(prime: Prime) -> None:
    assert "is empty" not in prime("sandbox", "run", "box", "--", "echo", "").err


def test_a_variable_that_is_empty_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", "")
    with pytest.raises(UsageError, match="PRIME_API_BASE_URL is set but empty"):
        load_config()


def test_a_variable_of_an_option_is_no_exception(
    prime: Prime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_HUB_DATABASE", " ")
    assert "PRIME_HUB_DATABASE is set but empty" in prime("hub", "serve").err


def test_a_python_program_gets_the_same_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PRIME_OWNER", "")
    with pytest.raises(UsageError, match="PRIME_OWNER is set but empty"):
        Hub().environments.list()


@pytest.mark.parametrize("line", ['owner = ""', 'context = ""', 'trust = ""', 'upstream = " "'])
def test_a_setting_that_is_empty_in_its_file_is_refused(line: str, home: Path) -> None:
    file = home / ".prime" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=f"{line.split(maxsplit=1)[0]} in .* (is empty|must be a list)"
    ):
        load_config()


@pytest.mark.parametrize("value", ["model", "base_url", "key_var"])
def test_an_endpoint_has_no_empty_part(value: str) -> None:
    parts: dict[str, str | None] = {"model": "m", "base_url": None, "key_var": None, value: ""}
    with pytest.raises(UsageError, match=f"`{value}` is empty"):
        resolve_endpoint(**parts, registry=NONE, environ={})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_KEY"])
def test_a_model_is_not_called_elsewhere_since_a_variable_is_empty(name: str) -> None:
    environ = {"OPENAI_BASE_URL": "http://localhost:1/v1", "OPENAI_API_KEY": "k", name: ""}
    with pytest.raises(UsageError, match=f"{name} is set but empty"):
        resolve_endpoint("m", None, None, NONE, environ)


@pytest.mark.parametrize("field", ["endpoint_id", "model", "url", "key"])
def test_an_entry_of_a_registry_has_no_empty_field(field: str, tmp_path: Path) -> None:
    entry = {
        "endpoint_id": "a",
        "model": "m",
        "url": "http://localhost:1/v1",
        "key": "K",
        field: "",
    }
    file = tmp_path / "endpoints.toml"
    lines = "\n".join(f'{name} = "{value}"' for name, value in entry.items())
    file.write_text(f"[[endpoint]]\n{lines}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=f"`{field}`"):
        load_registry(file, tmp_path)
