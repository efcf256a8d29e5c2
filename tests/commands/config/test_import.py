"""The official client's settings are taken over, and its files stay as they are."""

import hashlib
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Prime

PUBLIC = {
    "api_key": "pit_planted_public",
    "team_id": None,
    "base_url": "https://api.primeintellect.ai",
    "frontend_url": "https://app.primeintellect.ai",
    "inference_url": "https://api.pinference.ai/api/v1",
    "current_environment": "production",
    "share_resources_with_team": False,
}
STAGING = {
    "api_key": "pit_planted_staging",
    "team_id": "cabcdefghijklmnopqrstuvwx",
    "base_url": "https://staging.example.org/api/v1/",
    "frontend_url": "https://pages.example.org",
}


@pytest.fixture
def folder(home: Path) -> Path:
    """Where the official client keeps its files, which is PRIME_HOME too."""
    folder = home / ".prime"
    (folder / "environments").mkdir(parents=True)
    folder.chmod(0o700)
    _write(folder / "config.json", PUBLIC)
    _write(folder / "environments" / "staging.json", STAGING)
    return folder


def _write(file: Path, table: Any) -> None:
    file.write_text(json.dumps(table, indent=2), encoding="utf-8")


def _theirs(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in folder.rglob("*.json")
    }


def test_contexts_teams_and_keys_are_taken_and_their_files_stay(prime: Prime, folder: Path) -> None:
    before = _theirs(folder)
    done = prime("config", "import", "-o", "json").ok()
    assert [
        (each["name"], each["hub"], each["team"], each["key"], each["current"])
        for each in done.json["contexts"]
    ] == [
        ("prime", "https://api.primeintellect.ai", None, "taken", True),
        ("staging", "https://staging.example.org", STAGING["team_id"], "taken", False),
    ]
    assert _theirs(folder) == before
    assert tomllib.loads((folder / "config.toml").read_text(encoding="utf-8")) == {
        "context": "prime",
        "contexts": {
            "staging": {
                "base_url": "https://staging.example.org",
                "web_url": "https://pages.example.org",
                "team": STAGING["team_id"],
            }
        },
    }
    for name in ("prime", "staging"):
        shown = prime("config", "show", "--context", name, "-o", "json").ok().json
        assert shown["key"]["source"] == str(folder / "credentials.toml")
    assert "planted" not in done.out + done.err


def test_a_dry_run_shows_the_same_and_writes_nothing(prime: Prime, folder: Path) -> None:
    shown = prime("config", "import", "--dry-run", "-o", "json").ok()
    assert {path.name for path in folder.iterdir()} == {"config.json", "environments"}
    done = prime("config", "import", "-o", "json").ok()
    assert shown.json["contexts"] == done.json["contexts"]
    assert "planted" not in shown.out + shown.err


def test_what_is_set_here_already_stays(prime: Prime, folder: Path) -> None:
    config = folder / "config.toml"
    config.write_text(
        'context = "local"  # mine\n[contexts.staging]\nbase_url = "https://other.example.org"\n',
        encoding="utf-8",
    )
    config.chmod(0o600)
    before = config.read_text(encoding="utf-8")
    done = prime("config", "import", "-o", "json").ok().json["contexts"]
    assert done[1]["refused"] == "`staging` is https://other.example.org here"
    assert config.read_text(encoding="utf-8") == before
    again = prime("config", "import", "-o", "json").ok().json["contexts"]
    assert again[0]["key"] == "has one here"


def test_a_context_that_is_in_use_is_that_of_config_json(prime: Prime, folder: Path) -> None:
    _write(folder / "config.json", {**STAGING, "current_environment": "staging"})
    _write(folder / "environments" / "staging.json", {**STAGING, "api_key": "pit_older"})
    prime("config", "import").ok()
    assert prime("config", "get", "context").out == "staging\n"
    assert "pit_older" not in (folder / "credentials.toml").read_text(encoding="utf-8")


def test_names_that_are_ours_are_changed(prime: Prime, folder: Path) -> None:
    for name in ("local", "prime", "_x", "../up", "a b"):
        path = folder / "environments" / f"{name}.json"
        if path.parent.is_dir():
            _write(path, {**STAGING, "api_key": ""})
    done = prime("config", "import", "-o", "json").ok().json["contexts"]
    assert sorted(each["name"] for each in done) == [
        "official-_x",
        "official-local",
        "official-prime",
        "prime",
        "staging",
    ]


@pytest.mark.parametrize(
    ("change", "fate"),
    [
        ({"api_key": "two words"}, "not a key"),
        ({"api_key": "  "}, "none there"),
        ({"api_key": None}, "none there"),
        ({"base_url": "http://staging.example.org"}, "not over http"),
        ({"base_url": "http://127.0.0.1:8000"}, "taken"),
    ],
)
def test_a_key_is_accepted_only_if_it_is_one_and_can_be_sent(
    change: dict[str, Any], fate: str, prime: Prime, folder: Path
) -> None:
    _write(folder / "environments" / "staging.json", {**STAGING, **change})
    done = prime("config", "import", "-o", "json").ok().json["contexts"]
    assert done[1]["key"] == fate


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"api_key": 3}', '{"base_url": "ftp://x"}', "[" * 100_000, "\x00"],
)
def test_a_foreign_file_is_reported_in_a_sentence(content: str, prime: Prime, folder: Path) -> None:
    (folder / "config.json").write_text(content, encoding="utf-8")
    result = prime("config", "import")
    assert result.code == 2
    assert str(folder / "config.json") in result.err
    assert not (folder / "credentials.toml").exists()


def test_a_password_in_an_address_is_not_repeated(prime: Prime, folder: Path) -> None:
    _write(folder / "config.json", {**PUBLIC, "base_url": "https://u:planted@hub.example.org"})
    result = prime("config", "import")
    assert (result.code, "planted" in result.err) == (2, False)


def test_without_an_official_client_there_is_nothing_to_take(prime: Prime, home: Path) -> None:
    result = prime("config", "import")
    assert result.code == 6
    assert f"There is no {home / '.prime' / 'config.json'}" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_is_not_waited_for(prime: Prime, folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    refused = prime("config", "import")
    assert refused.code == 2
    assert "is not a config.json of the official client" in refused.err


def test_a_team_that_would_write_to_the_terminal_is_refused(prime: Prime, folder: Path) -> None:
    _write(folder / "config.json", {**PUBLIC, "team_id": "a\x1b]0;x\x07b"})
    refused = prime("config", "import")
    assert refused.code == 2
    assert not (folder / "config.toml").exists()
