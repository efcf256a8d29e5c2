"""`prime doctor`: one line a check, what to do below, and an exit code that gates can use."""

import json
import socket
from pathlib import Path

import pytest

from tests.helpers.cli import Prime, prime_process

KEY = "prime_sk_planted"


def test_a_new_machine_has_nothing_that_fails(prime: Prime, tmp_path: Path) -> None:
    shown = prime("doctor", cwd=tmp_path).ok()
    assert shown.out.splitlines()[0].split() == ["Check", "Status", "Found"]
    assert "failed" not in shown.out


def test_scripts_read_the_findings_with_their_fixes(prime: Prime, tmp_path: Path) -> None:
    page = prime("doctor", "--output", "json", cwd=tmp_path).ok().json
    assert page["status"] in ("ok", "warning")
    assert all(set(each) == {"name", "status", "sentence", "fix"} for each in page["findings"])
    names = [each["name"] for each in page["findings"]]
    records = prime("doctor", "--output", "jsonl", cwd=tmp_path).ok().records
    assert [each["name"] for each in records] == names
    lines = prime("doctor", "--output", "plain", cwd=tmp_path).ok().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == names
    assert {len(line.split("\t")) for line in lines} == {4}


def test_every_check_is_documented(prime: Prime, tmp_path: Path) -> None:
    page = prime("doctor", "--offline", "--output", "json", cwd=tmp_path).ok().json
    text = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert [each for each in page["findings"] if f"| `{each['name']}` |" not in text] == []


def test_a_broken_config_is_a_finding_and_the_rest_is_looked_at(
    prime: Prime, home: Path, tmp_path: Path
) -> None:
    (home / ".prime").mkdir(mode=0o700)
    (home / ".prime" / "config.toml").write_text("context = ", encoding="utf-8")
    shown = prime("doctor", "--output", "json", cwd=tmp_path)
    assert shown.code == 1
    findings = {each["name"]: each for each in shown.json["findings"]}
    assert findings["settings"]["status"] == "failed"
    assert "is not valid TOML" in findings["settings"]["sentence"]
    assert findings["hub"]["status"] == findings["key"]["status"] == "skipped"
    assert findings["python"]["status"] == "ok"
    assert json.loads(shown.err)["error"]["message"] == "1 check failed"


def test_offline_says_what_was_not_asked(prime: Prime, tmp_path: Path) -> None:
    env = {"PRIME_API_BASE_URL": "https://hub.example.org", "PRIME_API_KEY": KEY}
    shown = prime("doctor", "--offline", cwd=tmp_path, env=env).ok()
    assert "Not checked: prime is offline" in shown.out
    assert KEY not in shown.out + shown.err


def test_an_unreachable_hub_fails_with_its_step(prime: Prime, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    env = {"PRIME_API_BASE_URL": f"http://127.0.0.1:{port}", "PRIME_API_KEY": KEY}
    shown = prime("doctor", cwd=tmp_path, env=env)
    assert shown.code == 1
    assert "cannot be reached" in shown.out
    assert "hint: hub: check the network and the URL" in shown.err
    assert "error: 1 check failed" in shown.err
    assert KEY not in shown.out + shown.err


@pytest.mark.slow
def test_a_hub_that_hangs_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        shown = prime_process("doctor", cwd=tmp_path, env={"PRIME_API_BASE_URL": url})
    assert shown.code == 1
    assert "did not answer within 3 seconds" in shown.out
    assert "Checking this machine" in shown.err


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_it_can_be_read_on_any_console(tmp_path: Path, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    shown = prime_process("doctor", "--offline", cwd=tmp_path, env=env)
    assert shown.code == 0, shown.err
    assert f"stdout: {encoding}" in shown.out
