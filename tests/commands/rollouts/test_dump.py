"""What `prime rollouts` refuses before anything is fetched or run."""

from pathlib import Path

import pytest

from prime_cli.commands.rollouts.dump import opened
from prime_cli.core.errors import UsageError
from tests.helpers.cli import Prime
from tests.helpers.wild import write_project

MODEL = ("-m", "policy", "-b", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("command", ["dump", "serve"])
def test_a_model_without_token_ids_is_refused(prime: Prime, command: str) -> None:
    refused = prime("rollouts", command, "tiny", "-m", "builtin/oracle")
    assert refused.code == 2
    assert "returns no token ids" in refused.err


def test_without_a_model_one_of_the_users_own_server_is_hinted_at(prime: Prime) -> None:
    refused = prime("rollouts", "dump", "tiny")
    assert refused.code == 2
    assert "need a model" in refused.err
    assert "-m NAME -b http" in refused.err


@pytest.mark.parametrize("command", ["dump", "serve"])
def test_without_a_key_no_model_without_token_ids_is_hinted_at(
    prime: Prime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project = write_project(tmp_path / "tiny")
    refused = prime("rollouts", command, str(project), "-m", "gpt-4o")
    assert refused.code == 4
    assert "hint: `export OPENAI_API_KEY=…`" in refused.err
    assert "builtin" not in refused.err


def test_a_file_is_overwritten_only_with_force(prime: Prime, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    out.write_text("earlier", encoding="utf-8")
    refused = prime("rollouts", "dump", "./nowhere", *MODEL, "-o", str(out))
    assert (refused.code, out.read_text(encoding="utf-8")) == (7, "earlier")
    assert "--force" in refused.err
    # The next thing to fail is the environment, and nothing has been written by then.
    forced = prime("rollouts", "dump", "./nowhere", *MODEL, "-o", str(out), "--force")
    assert (forced.code, out.read_text(encoding="utf-8")) == (6, "earlier")


def test_a_file_in_which_nothing_was_written_does_not_refuse_the_next_try(tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    with pytest.raises(UsageError), opened(out):
        raise UsageError("no token ids")
    assert not out.exists()
    with opened(out) as file:
        file.write(b"{}\n")
    assert out.read_bytes() == b"{}\n"


def test_the_folder_of_the_file_must_exist(prime: Prime, tmp_path: Path) -> None:
    refused = prime("rollouts", "dump", "tiny", *MODEL, "-o", str(tmp_path / "no" / "r.jsonl"))
    assert refused.code == 6
    assert "mkdir -p" in refused.err
