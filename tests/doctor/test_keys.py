"""Where the key comes from, and whether others can read it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from prime_cli.core.credentials import KeyStorage, save_credential
from prime_cli.core.errors import UsageError
from prime_cli.doctor.files import check_overrides, check_permissions, check_settings
from prime_cli.doctor.hub import check_key
from tests.doctor.systems import one, system, told
from tests.helpers.cli import Prime
from tests.helpers.keyrings import Locked, Working

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
KEY = "prime_sk_planted"
URL = "https://hub.example.org"


@pytest.fixture
def ring() -> Iterator[Working]:
    before, own = keyring.get_keyring(), Working()
    keyring.set_keyring(own)
    yield own
    keyring.set_keyring(before)


@pytest.fixture
def team(home: Path) -> Path:
    """A home whose current context is a hub of a team."""
    folder = home / ".prime"
    folder.mkdir(mode=0o700)
    text = f'context = "team"\n[contexts.team]\nbase_url = "{URL}"\n'
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_source_of_the_key_is_reported_and_never_the_key(team: Path, tmp_path: Path) -> None:
    assert one(check_key(system(tmp_path)), "key").status == "warning"
    save_credential(team, "team", URL, KEY, KeyStorage.FILE)
    found = check_key(system(tmp_path))
    assert one(found, "key").sentence == f"The key for `team` is from {team}/credentials.toml"
    assert KEY not in str(found)


@pytest.mark.parametrize(
    ("url", "status"), [("http://hub.example.org", "warning"), ("http://127.0.0.1:8480", "ok")]
)
def test_a_key_that_goes_unencrypted_through_a_network_is_warned_of(
    url: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", url)
    monkeypatch.setenv("PRIME_API_KEY", KEY)
    found = one(check_key(system(tmp_path, {"PRIME_API_KEY": KEY})), "key")
    assert found.status == status
    assert KEY not in str(found)


def test_the_hub_in_the_box_needs_no_key(tmp_path: Path) -> None:
    assert one(check_key(system(tmp_path)), "key").status == "ok"


def test_a_keyring_that_answers_and_one_that_does_not(tmp_path: Path, ring: Working) -> None:
    there = system(tmp_path, {"PYTHON_KEYRING_BACKEND": "own"})
    assert told(one(check_key(there), "keyring")) == ("ok", "The keyring works", None)
    keyring.set_keyring(Locked())
    found = one(check_key(there), "keyring")
    assert found.status == "warning"
    assert found.sentence == "Keys are saved in a file: the keyring is locked"


def test_settings_that_cannot_be_read_fail_with_their_own_hint(tmp_path: Path) -> None:
    trouble = UsageError("config.toml is not valid TOML", hint="correct or remove the file")
    there = system(tmp_path, config=None, trouble=trouble)
    found = one(check_settings(there))
    assert told(found) == ("failed", "config.toml is not valid TOML", "correct or remove the file")
    assert one(check_key(there), "key").status == "skipped"
    assert one(check_overrides(there)).status == "ok"


def test_variables_that_hide_what_is_written_are_reported(
    team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sentences(**environ: str) -> list[str]:
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            return [each.sentence for each in check_overrides(system(tmp_path, environ))]

    assert sentences() == ["No variable overrides a setting"]
    assert sentences(PRIME_CONTEXT="local") == [
        "PRIME_CONTEXT selects `local`, but config.toml says `team`"
    ]
    assert sentences(PRIME_CONTEXT="team", PRIME_API_KEY=KEY) == [
        "PRIME_API_KEY is set, but not for `team`, and is not sent there"
    ]
    save_credential(team, "team", URL, KEY, KeyStorage.FILE)
    assert sentences(PRIME_API_BASE_URL=URL, PRIME_API_KEY=KEY) == [
        "PRIME_API_KEY overrides the key saved for `team`"
    ]


def test_a_variable_that_is_empty_is_why_settings_cannot_be_read(prime: Prime) -> None:
    shown = prime("doctor", "--offline", env={"PRIME_API_KEY": ""})
    assert "settings      failed   PRIME_API_KEY is set but empty\n" in shown.out


@posix
def test_a_closed_home_hides_what_is_in_it(team: Path, tmp_path: Path) -> None:
    (team / "config.toml").chmod(0o644)
    assert one(check_permissions(system(tmp_path))).status == "ok"


@posix
def test_keys_that_others_can_read_fail(team: Path, tmp_path: Path) -> None:
    save_credential(team, "team", URL, KEY, KeyStorage.FILE)
    team.chmod(0o755)
    (team / "config.toml").chmod(0o600)
    found = one(check_permissions(system(tmp_path)))
    assert told(found) == ("warning", f"Others can read {team}", f"`chmod 700 {team}`")
    (team / "credentials.toml").chmod(0o640)
    found = one(check_permissions(system(tmp_path)))
    file = team / "credentials.toml"
    assert found.status == "failed"
    assert found.sentence == f"Others can read {file}, which contains a key"
    assert found.fix == f"`chmod 700 {team}`; `chmod 600 {file}`"
