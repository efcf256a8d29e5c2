"""endpoints.toml and where registries are looked for."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.models.prices import Price
from prime_cli.models.providers import EndpointSecret, KeySource
from prime_cli.models.registry import Registry, RegistryEntry, load_registry

TOML = """
[[endpoint]]
endpoint_id = "qwen"
model = "Qwen/Qwen3-0.6B"
url = "http://localhost:8000/v1"
key = "EMPTY"
headers = { X-Team = "blue" }

[[endpoint]]
endpoint_id = "judge"
model = "gpt-4.1-nano"
api_base_url = "https://api.openai.com/v1"
api_key_var = "OPENAI_API_KEY"
type = "openai_chat_completions"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRIME_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(text: str, folder: Path) -> Registry:
    return load_registry(write(folder / "endpoints.toml", text), folder, {})


def test_both_spellings_of_a_field_are_read(tmp_path: Path) -> None:
    assert load(TOML, tmp_path).entries == (
        RegistryEntry(
            "qwen",
            "Qwen/Qwen3-0.6B",
            "http://localhost:8000/v1",
            KeySource(literal=EndpointSecret("EMPTY")),
            headers={"X-Team": "blue"},
        ),
        RegistryEntry(
            "judge", "gpt-4.1-nano", "https://api.openai.com/v1", KeySource("OPENAI_API_KEY")
        ),
    )


def test_an_alias_is_found_before_a_model(tmp_path: Path) -> None:
    line = '[[endpoint]]\nendpoint_id = "{}"\nmodel = "{}"\nurl = "http://{}/v1"\nkey = "EMPTY"\n'
    registry = load(line.format("a", "b", 1) + line.format("b", "c", 2), tmp_path)
    assert [entry.url for entry in registry.find("b")] == ["http://2/v1"]
    assert [entry.alias for entry in registry.find("c")] == ["b"]
    assert registry.find("d") == ()


def test_repeated_aliases_are_one_group(tmp_path: Path) -> None:
    again = TOML.replace("localhost:8000", "localhost:8001")
    registry = load(TOML + again, tmp_path)
    assert [entry.url for entry in registry.find("qwen")] == [
        "http://localhost:8000/v1",
        "http://localhost:8001/v1",
    ]
    assert registry.aliases == ("qwen", "judge")


def test_a_folder_may_be_named(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "endpoints.toml", TOML)
    registry = load_registry(Path("configs"), tmp_path, {})
    assert registry.explicit
    assert registry.aliases == ("qwen", "judge")


def test_the_older_form_is_read_by_its_suffix(tmp_path: Path) -> None:
    source = """
import os
ENDPOINTS = {
    "q": {"model": "Q", "url": "http://0.0.0.0:8000/v1", "key": "EMPTY"},
    "g": {"model": "G", "url": os.environ["URL"], "key": os.getenv("KEY")},
}
"""
    path = write(tmp_path / "endpoints.py", source)
    registry = load_registry(path, tmp_path, {"URL": "http://g/v1"})
    assert registry.entries == (
        RegistryEntry(
            "q", "Q", "http://0.0.0.0:8000/v1", KeySource(literal=EndpointSecret("EMPTY"))
        ),
        RegistryEntry("g", "G", "http://g/v1", KeySource("KEY")),
    )


def test_default_places_are_tried_in_order(tmp_path: Path, home: Path) -> None:
    assert load_registry(None, tmp_path, {}) == Registry()
    at_home = write(home / "endpoints.toml", TOML)
    assert load_registry(None, tmp_path, {}).path == at_home
    beside = write(tmp_path / "configs" / "endpoints.toml", TOML)
    found = load_registry(None, tmp_path, {})
    assert found.path == beside
    assert not found.explicit


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_named_registry_must_be_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        load_registry(Path(name), tmp_path, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[endpoint", "is not TOML"),
        ("endpoint = 5", "not a list of tables"),
        ('[[endpoint]]\nmodel = "m"', "no string for .endpoint_id."),
        ('[[endpoint]]\nendpoint_id = "a"\nmodel = "m"', "`a` in .* no string for `url`"),
        (TOML.replace('"blue"', "5"), "a header of `qwen`"),
        (TOML.replace('key = "EMPTY"', "key = 5"), "`key` of `qwen`"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load(text, tmp_path)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        load_registry(path, tmp_path, {})


@given(st.text())
def test_any_toml_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "endpoints.toml"
    path.write_text(text, encoding="utf-8", newline="")
    with suppress(PrimeError):
        load_registry(path, path.parent, {})


def test_an_entry_may_state_what_its_model_costs(tmp_path: Path) -> None:
    text = TOML.replace('key = "EMPTY"', 'key = "EMPTY"\nprice = {input = 0.1, output = 0.3}')
    path = write(tmp_path / "endpoints.toml", text)
    qwen, judge = load_registry(path, tmp_path, {}).entries
    assert qwen.price == Price(0.1, 0.3, None, str(path))
    assert judge.price is None


@pytest.mark.parametrize("price", ["5", "{input = 1}", '{input = 1, output = "2"}'])
def test_an_invalid_price_is_refused_with_its_entry(price: str, tmp_path: Path) -> None:
    text = TOML.replace('key = "EMPTY"', f'key = "EMPTY"\nprice = {price}')
    with pytest.raises(UsageError, match="`qwen`"):
        load_registry(write(tmp_path / "endpoints.toml", text), tmp_path, {})
