"""`prime context …`, with the keys that belong to contexts."""

from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.scripted_hub import ScriptedHub

KEY = "pit_planted_key"


@pytest.fixture
def team(prime: Prime, scripted: ScriptedHub) -> ScriptedHub:
    """A hub that one is logged in to as the context `team`."""
    scripted.grant(KEY)
    words = ("login", "--hub", scripted.url, "--name", "team", "--token-stdin")
    prime(*words, stdin=KEY).ok()
    return scripted


def names(prime: Prime) -> list[str]:
    return [each["name"] for each in prime("context", "list", "-o", "json").ok().json["contexts"]]


def test_a_context_is_shown_with_the_place_of_its_key(prime: Prime, team: ScriptedHub) -> None:
    shown = prime("context", "show", "-o", "json").ok()
    assert shown.json == {
        "name": "team",
        "current": True,
        "base_url": team.url,
        "web_url": team.url,
        "team": None,
        "key": "file",
    }
    for words in ("context show team", "context list", "context list -o plain", "config show"):
        assert KEY not in prime(*words.split()).ok().out


def test_a_context_that_is_renamed_keeps_its_key(prime: Prime, team: ScriptedHub) -> None:
    prime("context", "rename", "team", "work").ok()
    assert names(
        prime,
    ) == ["local", "prime", "work"]
    assert prime("whoami", "-o", "json").ok().json["context"] == "work"
    assert prime("context", "rename", "work", "prime").code == 7
    assert prime("context", "rename", "gone", "x").code == 6


def test_a_context_is_deleted_with_its_key_after_a_yes(
    prime: Prime, team: ScriptedHub, home: Path
) -> None:
    asked = prime("context", "delete", "team")
    assert asked.code == 2
    assert "--yes" in asked.err
    prime("context", "delete", "team", "--yes").ok()
    assert names(
        prime,
    ) == ["local", "prime"]
    assert KEY not in (home / ".prime" / "credentials.toml").read_text(encoding="utf-8")
    assert prime("context", "delete", "team", "--yes").code == 6
    assert prime("context", "delete", "prime", "--yes").code == 2


def test_a_current_context_that_is_gone_can_be_mended(prime: Prime, home: Path) -> None:
    path = home / ".prime" / "config.toml"
    path.parent.mkdir()
    path.write_text('context = "gone"\n', encoding="utf-8")
    assert prime("whoami").code == 6
    assert names(
        prime,
    ) == ["local", "prime"]
    prime("context", "use", "local").ok()
    prime("whoami").ok()


def test_the_key_of_one_hub_is_not_sent_to_another(
    prime: Prime, team: ScriptedHub, home: Path
) -> None:
    path = home / ".prime" / "config.toml"
    with ScriptedHub() as other:
        other.grant("x")
        changed = path.read_text(encoding="utf-8").replace(team.url, other.url)
        path.write_text(changed, encoding="utf-8")
        assert prime("whoami").code == 4
        assert prime("env", "list").code in (0, 6)
        assert {each.authorization for each in other.seen} == {None}


def test_what_is_used_next_is_reported_where_a_variable_wins(
    prime: Prime, team: ScriptedHub
) -> None:
    used = prime("context", "use", "prime", env={"PRIME_CONTEXT": "team"}).ok()
    assert "PRIME_CONTEXT is set, so commands here use `team`" in used.err
