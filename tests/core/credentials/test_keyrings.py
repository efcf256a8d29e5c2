"""Where there is no session bus, no terminal and no HOME, nothing hangs and keys are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.core.credentials import KeyStorage, save_credential
from tests.helpers.cli import COMMAND, prime_process

HUB = "https://api.primeintellect.ai"
KEY = "prime_sk_planted"
ROOT = Path(__file__).parents[3]

_SAVE = (
    "from pathlib import Path; import sys;"
    "from prime_cli.core.credentials import save_credential;"
    f"print(save_credential(Path(sys.argv[1]), 'prime', '{HUB}', sys.stdin.read()).sentence)"
)


def _save(home: Path, **env: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHON_KEYRING_BACKEND"}
    done = subprocess.run(
        [sys.executable, "-c", _SAVE, str(home)],
        input=KEY,
        env={**kept, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_process_ends_while_the_keyring_still_hangs(home: Path) -> None:
    said = _save(home / ".prime", PYTHON_KEYRING_BACKEND="tests.helpers.keyrings.Hanging")
    assert "the keyring did not answer within 3 seconds" in said
    assert KEY in (home / ".prime" / "credentials.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="they need no session bus")
def test_a_headless_box_asks_no_keyring(home: Path) -> None:
    said = _save(home / ".prime", SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22")
    assert "there is no session bus to reach a keyring" in said


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="they need no session bus")
def test_without_a_session_bus_there_is_no_keyring(home: Path) -> None:
    said = _save(home / ".prime", DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere/bus")
    assert f"{home / '.prime' / 'credentials.toml'} (mode 0600): " in said


def test_a_missing_backend_falls_back_to_the_file(home: Path) -> None:
    said = _save(home / ".prime", PYTHON_KEYRING_BACKEND="nowhere.Keyring")
    assert "(mode 0600): the keyring refused (ModuleNotFoundError)" in said


def test_without_home_the_key_in_prime_home_is_found(tmp_path: Path) -> None:
    save_credential(tmp_path, "prime", HUB, KEY, KeyStorage.FILE)
    kept = {
        name: value for name, value in os.environ.items() if name not in ("HOME", "USERPROFILE")
    }
    done = subprocess.run(
        [*COMMAND, "config", "show", "--context", "prime", "--output", "plain"],
        env={**kept, "PRIME_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"key\tset\t{tmp_path / 'credentials.toml'}\n" in done.stdout


def test_no_keyring_is_imported_for_a_key_in_a_file(home: Path) -> None:
    save_credential(home / ".prime", "prime", HUB, KEY, KeyStorage.FILE)
    program = (
        "import sys; from prime_cli.main import main; from prime_cli.session import Session;"
        "main(['config', 'show', '--context', 'prime'], Session());"
        "sys.exit('keyring' in sys.modules or 'tomlkit' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0


def test_a_locked_keyring_is_reported_once_and_what_is_public_still_works(home: Path) -> None:
    folder = home / ".prime"
    folder.mkdir(mode=0o700)
    file = folder / "credentials.toml"
    file.write_text(f'[contexts.prime]\nhub = "{HUB}"\nkeyring = "prime"\n', encoding="utf-8")
    file.chmod(0o600)
    env = {
        "PYTHON_KEYRING_BACKEND": "tests.helpers.keyrings.Locked",
        "PYTHONPATH": str(ROOT),
        "PRIME_OFFLINE": "1",
    }
    said = prime_process("env", "list", "--context", "prime", env=env)
    assert said.err.count("warning:") == 1
    assert "The key of `prime` cannot be read from the keyring: the keyring is locked" in (said.err)
