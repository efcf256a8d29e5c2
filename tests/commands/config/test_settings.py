"""Settings are read with their source, written beside the user's comments, and never a key."""

from pathlib import Path

import pytest

from prime_cli.core.config.settings import SETTINGS
from tests.helpers.cli import Prime

WRITTEN_BY_HAND = """\
# Grace's hub is slow on Mondays.
owner = "eve"  # hers

[contexts.team]
base_url = "https://hub.example.org"
"""


@pytest.fixture
def file(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PRIME_OWNER")
    monkeypatch.delenv("PRIME_UPSTREAM")
    path = home / ".prime" / "config.toml"
    path.parent.mkdir(mode=0o700)
    path.write_text(WRITTEN_BY_HAND, encoding="utf-8")
    path.chmod(0o600)
    return path


VALUES = {
    "context": ("team", "team"),
    "owner": ("grace", "grace"),
    "offline": ("yes", True),
    "upstream": ("none", None),
    "storage": ("file", "file"),
    "trust": ("ada, hub.example.org/eve", ["ada", "hub.example.org/eve"]),
    "require_signature": ("true", True),
    "ssh_key_path": ("~/.ssh/pods", "~/.ssh/pods"),
    "sky": ("sky", "sky"),
    "sky_infra": ("aws, slurm/lab", ["aws", "slurm/lab"]),
    "sandboxes": ("kubernetes, engine", ["kubernetes", "engine"]),
}


def test_every_setting_has_a_value_in_this_test() -> None:
    assert {known.name for known in SETTINGS} == {*VALUES, "team"}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_written_is_read_again_with_the_file_as_its_source(
    name: str, prime: Prime, file: Path
) -> None:
    text, value = VALUES[name]
    prime("config", "set", name.replace("_", "-"), text).ok()
    got = prime("config", "get", name, "--output", "json").ok().json
    assert (got["value"], got["source"]) == (value, str(file))
    assert prime("config", "show", "-o", "json").ok().json[name]["value"] == value
    assert "# Grace's hub is slow on Mondays." in file.read_text(encoding="utf-8")
    prime("config", "unset", name).ok()
    assert prime("config", "get", name, "-o", "json").json["source"] != str(file)


def test_a_file_written_by_hand_comes_back_byte_for_byte(prime: Prime, file: Path) -> None:
    for name, value in (("owner", "ada"), ("storage", "file")):
        prime("config", "set", name, value).ok()
    prime("config", "unset", "storage").ok()
    prime("config", "set", "owner", "eve").ok()
    assert file.read_text(encoding="utf-8") == WRITTEN_BY_HAND


def test_get_prints_the_value_alone(prime: Prime, file: Path) -> None:
    assert prime("config", "get", "owner").ok().out == "eve\n"
    assert prime("config", "get", "offline").ok().out == "false\n"
    assert prime("config", "get", "hub", "--context", "team").out == "https://hub.example.org\n"
    assert prime("config", "get", "team").ok().out == "\n"


def test_a_variable_that_wins_is_named(prime: Prime, file: Path) -> None:
    env = {"PRIME_OWNER": "ada"}
    done = prime("config", "set", "owner", "grace", env=env).ok()
    assert done.err.splitlines() == [
        "owner is grace now",
        "warning: PRIME_OWNER is set and takes precedence: owner is ada",
        "hint: unset PRIME_OWNER",
    ]
    shown = prime("config", "show", "--output", "plain", env=env).ok().out
    assert "owner\tada\tPRIME_OWNER, not `grace` of config.toml\n" in shown


def test_a_team_belongs_to_its_context(prime: Prime, file: Path) -> None:
    prime("config", "set", "team", "lab", "--context", "team").ok()
    assert 'team = "lab"' in file.read_text(encoding="utf-8")
    assert prime("config", "get", "team", "--context", "team").out == "lab\n"
    assert prime("config", "get", "team", "--context", "prime").out == "\n"
    argv = ("config", "show", "--context", "team", "--output", "plain")
    shown = prime(*argv, env={"PRIME_TEAM": "other"}).ok().out
    assert "team\tother\tPRIME_TEAM, not `lab` of config.toml\n" in shown
    assert prime("config", "set", "team", "lab", "--context", "local").code == 2
    prime("config", "set", "team", "personal", "--context", "team").ok()
    assert file.read_text(encoding="utf-8") == WRITTEN_BY_HAND
    prime("config", "unset", "team", "--context", "team").ok()
    assert file.read_text(encoding="utf-8") == WRITTEN_BY_HAND


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["set", "onwer", "x"], "hint: did you mean `owner`?"),
        (["get", "contxt"], "hint: did you mean `context`?"),
        (["unset", "xyz"], "hint: there are context, team, owner"),
        (["set", "owner", "Ada L."], "hint: write `ada-l`"),
        (["set", "offline", "perhaps"], "hint: write `true` or `false`"),
        (["set", "storage", "cloud"], "hint: choose one of `auto`, `keyring`, `file`"),
        (["set", "upstream", "hub"], "which is not the URL of a hub"),
        (["set", "context", "nowhere"], "There is no context `nowhere`"),
        (["use", "nowhere"], "There is no context `nowhere`"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    argv: list[str], sentence: str, prime: Prime, file: Path
) -> None:
    result = prime("config", *argv)
    assert result.code in (2, 6)
    assert sentence in result.err
    assert file.read_text(encoding="utf-8") == WRITTEN_BY_HAND


@pytest.mark.parametrize("name", ["key", "api-key", "api_key", "token", "PRIME_API_KEY"])
def test_a_key_is_not_a_setting(name: str, prime: Prime, file: Path) -> None:
    for argv in (["set", name, "prime_sk_planted"], ["get", name], ["unset", name]):
        result = prime("config", *argv)
        assert result.code == 2
        assert "hint: save one with `prime login --token-stdin`" in result.err
        assert "planted" not in result.out + result.err


def test_use_makes_a_context_the_current_one(prime: Prime, file: Path) -> None:
    prime("config", "use", "team").ok()
    assert prime("config", "get", "context").out == "team\n"
    prime("config", "use", "local").ok()
    assert prime("config", "get", "context").out == "local\n"


def test_a_current_context_that_is_gone_can_be_mended(prime: Prime, file: Path) -> None:
    file.write_text(f'context = "gone"\n{WRITTEN_BY_HAND}', encoding="utf-8")
    assert prime("config", "show").code == 6
    assert prime("config", "path").ok().out == f"{file}\n"
    prime("config", "unset", "context").ok()
    assert prime("config", "get", "context").out == "local\n"


def test_a_variable_that_names_no_hub_does_not_keep_the_box_from_working(
    prime: Prime, file: Path
) -> None:
    env = {"PRIME_API_BASE_URL": "hub.example.org"}
    shown = prime("config", "show", env=env)
    assert (shown.code, "which is not the URL of a hub" in shown.err) == (2, True)
    prime("config", "path", env=env).ok()
    prime("env", "list", "--context", "local", env=env).ok()


def test_the_path_is_printed_before_there_is_a_file(prime: Prime, home: Path) -> None:
    assert prime("config", "path").ok().out == f"{home / '.prime' / 'config.toml'}\n"
    assert not (home / ".prime").exists()
