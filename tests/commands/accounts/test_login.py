"""`prime login` and what it leaves: a context, a key, and no trace of the key elsewhere."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.helpers.cli import COMMAND, Prime, Result, prime_process
from tests.helpers.scripted_hub import ScriptedHub
from tests.helpers.team_hub import TeamHub

KEY = "pit_planted_key"


def log_in(
    prime: Callable[..., Result], url: str, *argv: str, key: str = KEY, **variables: str
) -> Result:
    words = ("login", "--hub", url, "--token-stdin", *argv)
    return prime(*words, stdin=f"{key}\n", env=variables)


def settings(home: Path) -> dict[str, object]:
    path = home / ".prime" / "config.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def everything(home: Path) -> str:
    return "\n".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in home.rglob("*")
        if path.is_file() and path.name != "credentials.toml"
    )


def start(*argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def read_code(stderr: IO[str] | None) -> str:
    assert stderr is not None
    for line in stderr:
        if found := re.search(r"/dashboard/tokens/challenge\?code=(\S+)", line):
            return found[1]
    raise AssertionError("no code was shown")


@pytest.mark.slow
def test_a_login_from_an_empty_home_to_its_end(team_hub: TeamHub, home: Path) -> None:
    user = team_hub.add_user()
    with start("login", "--headless", "--hub", team_hub.url, "--name", "team", "-q") as login:
        team_hub.approve(read_code(login.stderr), user)
        said, _ = login.communicate(timeout=120)
    assert (login.returncode, said) == (0, "")
    assert settings(home) == {"context": "team", "contexts": {"team": {"base_url": team_hub.url}}}
    assert prime_process("whoami", "-o", "json").ok().json["slug"] == user
    assert team_hub.keys_of(user) == ["login from 127.0.0.1"]
    gone = prime_process("logout").ok()
    assert "its key was revoked and removed" in gone.err
    assert team_hub.keys_of(user) == []
    assert prime_process("whoami", "--context", "team").code == 4


def test_a_key_from_stdin_is_tried_and_kept(team_hub: TeamHub, home: Path) -> None:
    user = team_hub.add_user()
    key = team_hub.add_key(user)
    kept = log_in(prime_process, team_hub.url, "--name", "team", "-o", "json", key=key).ok()
    assert kept.json == {
        "context": "team",
        "hub": team_hub.url,
        "id": kept.json["id"],
        "owner": user,
        "team": None,
        "storage": "file",
    }
    told = prime_process("whoami").ok().out
    assert re.search(rf"owner +{user} ", told)
    assert "write: environments, evaluations, secrets" in told
    assert key not in everything(home) + kept.out + kept.err + told
    assert (home / ".prime" / "credentials.toml").stat().st_mode & 0o777 == 0o600


def test_a_key_that_the_hub_does_not_know_is_not_kept(
    prime: Prime, team_hub: TeamHub, home: Path
) -> None:
    result = log_in(prime, team_hub.url, "--name", "team")
    assert result.code == 4
    assert "does not accept this key; nothing was saved" in result.err
    assert not settings(home)
    assert not (home / ".prime" / "credentials.toml").exists()


@pytest.mark.parametrize("text", ["", "two words", "zwölf", "x" * 20_000, "a\x00b"])
def test_an_invalid_key_is_not_sent(prime: Prime, scripted: ScriptedHub, text: str) -> None:
    result = log_in(prime, scripted.url, key=text)
    assert result.code in (2, 4)
    assert scripted.seen == []
    assert not text or text not in result.err


def test_a_key_that_cannot_be_kept_does_not_stay_on_the_hub(team_hub: TeamHub, home: Path) -> None:
    user = team_hub.add_user()
    with start("login", "--headless", "--hub", team_hub.url, "--storage", "keyring") as login:
        team_hub.approve(read_code(login.stderr), user)
        _, said = login.communicate(timeout=120)
    assert login.returncode == 74
    assert "`--storage file`" in said
    assert team_hub.keys_of(user) == []


def test_a_key_that_cannot_be_stored_is_not_approved(
    prime: Prime, scripted: ScriptedHub, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    result = log_in(prime, scripted.url, PRIME_HOME=str(tmp_path / "file" / "home"))
    assert result.code == 74
    assert scripted.seen == []


def test_a_key_that_was_given_stays_good_unless_one_says_otherwise(
    prime: Prime, team_hub: TeamHub
) -> None:
    user = team_hub.add_user()
    key = team_hub.add_key(user)
    log_in(prime, team_hub.url, key=key).ok()
    assert "still valid on the hub" in prime("logout").ok().err
    assert team_hub.keys_of(user) == ["given"]
    log_in(prime, team_hub.url, key=key).ok()
    assert "revoked" in prime("logout", "--revoke").ok().err
    assert team_hub.keys_of(user) == []


def test_logging_out_offline_and_twice_asks_nobody(prime: Prime, scripted: ScriptedHub) -> None:
    scripted.grant(KEY)
    log_in(prime, scripted.url, "--name", "team").ok()
    scripted.seen.clear()
    prime("logout", "--offline").ok()
    again = prime("logout", "team").ok()
    assert "No key is saved for `team`" in again.err
    assert scripted.seen == []


def test_a_hub_that_cannot_revoke_is_reported_and_the_key_forgotten(
    prime: Prime, scripted: ScriptedHub
) -> None:
    scripted.grant(KEY)
    log_in(prime, scripted.url, "--name", "team").ok()
    refused = prime("logout", "--revoke")
    assert refused.code == 4
    assert "does not let keys revoke themselves" in refused.err
    done = prime("logout").ok()
    assert "this hub cannot revoke it" in done.err
    assert "No key is saved here" in prime("logout", "--all").ok().err


def test_a_hub_that_is_gone_does_not_keep_one_logged_in(prime: Prime, home: Path) -> None:
    with ScriptedHub() as hub:
        hub.grant(KEY)
        log_in(prime, hub.url, "--name", "team").ok()
    done = prime("logout", "--all").ok()
    assert "could not be revoked" in done.err
    assert KEY not in (home / ".prime" / "credentials.toml").read_text(encoding="utf-8")


def test_a_variable_that_wins_is_named(prime: Prime, scripted: ScriptedHub) -> None:
    scripted.grant(KEY)
    result = log_in(prime, scripted.url, "--name", "team", PRIME_CONTEXT="local")
    assert "warning: PRIME_CONTEXT is set, so commands here use `local`" in result.ok().err
    result = log_in(prime, scripted.url, PRIME_API_BASE_URL=scripted.url, PRIME_API_KEY="another")
    assert "PRIME_API_KEY is set, and is used instead" in result.ok().err


def test_a_context_of_another_hub_is_left_unchanged(
    prime: Prime, scripted: ScriptedHub, home: Path
) -> None:
    scripted.grant(KEY)
    prime("context", "add", "team", "https://hub.example.org").ok()
    result = log_in(prime, scripted.url, "--name", "team")
    assert result.code == 7
    assert settings(home) == {"contexts": {"team": {"base_url": "https://hub.example.org"}}}
    assert scripted.seen == []


def test_the_comments_of_a_hand_written_file_survive(
    prime: Prime, scripted: ScriptedHub, home: Path
) -> None:
    path = home / ".prime" / "config.toml"
    path.parent.mkdir()
    path.write_text('# mine\nowner = "ada"  # me\n', encoding="utf-8")
    scripted.grant(KEY)
    log_in(prime, scripted.url, "--name", "team").ok()
    assert path.read_text(encoding="utf-8").startswith('# mine\nowner = "ada"  # me\n')


def test_a_key_does_not_travel_unencrypted(prime: Prime) -> None:
    result = prime("login", "--hub", "http://hub.example.org", "--token-stdin")
    assert result.code == 2
    assert "--allow-http" in result.err


@pytest.mark.parametrize(
    "whoami",
    [
        {"data": {"id": 7}},
        {"data": []},
        b"\x00\x01",
        {"data": {"id": "user_1", "scope": "all"}},
    ],
)
def test_an_invalid_account_stores_nothing(
    prime: Prime, scripted: ScriptedHub, home: Path, whoami: object
) -> None:
    scripted.grant(KEY)
    scripted.answer("GET /user/whoami", whoami)
    result = log_in(prime, scripted.url)
    assert (result.code, result.err.count("\n")) == (5, 2)
    assert not (home / ".prime" / "credentials.toml").exists()


def test_escape_codes_of_a_hub_do_not_reach_the_screen(prime: Prime, scripted: ScriptedHub) -> None:
    scripted.grant(KEY)
    scripted.answer("GET /user/whoami", {"data": {"id": "u", "slug": "a\x1b[2Jda", "scope": {}}})
    said = log_in(prime, scripted.url).ok()
    assert "\x1b" not in said.out + said.err
    assert "\x1b" not in prime("whoami").ok().out


def test_offline_no_login_is_begun(prime: Prime, scripted: ScriptedHub) -> None:
    assert prime("login", "--headless", "--hub", scripted.url, "--offline").code == 5
    assert scripted.seen == []


def test_a_ci_job_does_not_wait_for_someone_to_approve_it(
    prime: Prime, scripted: ScriptedHub
) -> None:
    result = prime("login", "--hub", scripted.url, env={"CI": "true"})
    assert result.code == 2
    assert "CI job" in result.err
    assert "--token-stdin" in result.err
    assert scripted.seen == []
