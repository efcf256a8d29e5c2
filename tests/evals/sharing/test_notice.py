"""The command of `--notify` is run by a real shell."""

import json
from pathlib import Path

import pytest

from prime_cli.core.progress import Silent
from prime_cli.evals.sharing.notice import RunNotice, notify

NOTICE = RunNotice("1f2e3d4c", "capped", "runs/1f2e3d4c", {"run_id": "1f2e3d4c", "reward": 0.5})
pytestmark = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="has no sh")


def warned(command: str, seconds: float = 30) -> list[str]:
    progress = Silent()
    notify(command, NOTICE, progress, seconds=seconds)
    return progress.warned


def test_it_learns_of_the_run_by_variables_and_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = 'echo "$PRIME_RUN_ID $PRIME_RUN_STATUS $PRIME_RUN_DIR" > said; cat > stdin'
    assert warned(shown) == []
    said = (tmp_path / "said").read_text("utf-8")
    assert said == f"1f2e3d4c capped {tmp_path / 'runs' / '1f2e3d4c'}\n"
    assert json.loads((tmp_path / "stdin").read_text("utf-8"))["reward"] == 0.5


def test_it_has_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MY_TOKEN"):
        monkeypatch.setenv(name, "sk-proj-0123456789abcdef0123")
    monkeypatch.setenv("CHANNEL", "#evals")
    assert warned(f"env > {tmp_path / 'env'}") == []
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text("utf-8").splitlines()}
    assert "CHANNEL" in names
    assert names.isdisjoint({"OPENAI_API_KEY", "MY_TOKEN"})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo no channel >&2; exit 3", "ended with exit code 3: no channel"),
        ("no-such-program-here", "ended with exit code 127: "),
        ("sleep 60", "took longer than 0.5 seconds, and was stopped"),
        ("sleep 60 & exit 0", "took longer than 0.5 seconds, and was stopped"),
        ("exec <&-; true", ""),
    ],
)
def test_what_goes_wrong_with_it_is_a_warning(command: str, told: str) -> None:
    (said,) = warned(command, 0.5) or [""]
    assert told in said
    assert bool(told) == bool(said)
