"""`prime skills add`, and what a coding agent gets otherwise than a person."""

import re
import shlex
from pathlib import Path

import pytest

from prime_cli import __version__
from prime_cli.commands.base import load
from prime_cli.commands.skills import render_skill
from prime_cli.terminal.streams import AGENT_VARIABLES, find_agent, is_unattended
from tests.helpers.cli import Prime
from tests.helpers.contracts import find_leaf

_PLACE = Path("skills", "prime", "SKILL.md")


def test_a_skill_is_written_where_the_agents_of_a_project_look(
    prime: Prime, tmp_path: Path
) -> None:
    (tmp_path / ".claude").mkdir()
    done = prime("skills", "add", "--output", "json", cwd=tmp_path).ok()
    files = [tmp_path / name / _PLACE for name in (".agents", ".claude")]
    assert [tmp_path / each for each in done.json["files"]] == files
    assert {each.read_text(encoding="utf-8") for each in files} == {render_skill()}


def test_a_skill_is_written_where_one_says(prime: Prime, tmp_path: Path) -> None:
    prime("skills", "add", "--dest", str(tmp_path / "mine"), cwd=tmp_path).ok()
    assert (tmp_path / "mine" / "prime" / "SKILL.md").is_file()
    assert not (tmp_path / ".agents").exists()


def test_a_skill_is_short_and_knows_its_release() -> None:
    text = render_skill()
    assert len(text.encode()) <= 4096
    assert f'version: "{__version__}"' in text
    assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == 10


@pytest.mark.parametrize("words", sorted(set(re.findall(r"`prime ([^`]+)`", render_skill()))))
def test_each_command_of_the_skill_exists_with_its_options(words: str) -> None:
    typed = shlex.split(words)
    target, _ = find_leaf(typed)
    assert target is not None, words
    known = {name for each in load(target).params for name in each.opts}
    assert {word for word in typed if word.startswith("-")} <= known


def test_an_agent_is_told_of_a_skill_of_another_release(prime: Prime, tmp_path: Path) -> None:
    prime("skills", "add", cwd=tmp_path).ok()
    agent = {"AI_AGENT": "somebody"}
    assert "skills add" not in prime("whoami", cwd=tmp_path, env=agent).ok().err
    file = tmp_path / ".agents" / _PLACE
    file.write_text(render_skill().replace(__version__, "0.0.1"), encoding="utf-8", newline="\n")
    assert "run `prime skills add`" in prime("whoami", cwd=tmp_path, env=agent).ok().err
    assert "skills add" not in prime("whoami", cwd=tmp_path).ok().err


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_an_agent_gets_the_first_lines_of_a_table_and_the_command_for_the_rest(
    prime: Prime, home: Path, name: str
) -> None:
    _save_contexts(home)
    whole = prime("context", "list").ok().out.splitlines()
    done = prime("context", "list", env={name: "1"}).ok()
    assert done.out.splitlines() == whole[:40]
    left = len(whole) - 40
    assert f"hint: {left} more lines with `prime context list --output plain`" in done.err


@pytest.mark.parametrize("mode", ["plain", "json", "jsonl"])
def test_what_programs_read_stays_whole_for_an_agent(prime: Prime, home: Path, mode: str) -> None:
    _save_contexts(home)
    words = ("context", "list", "--output", mode)
    expected = prime(*words).ok().out
    assert prime(*words, env={"AI_AGENT": "1"}).ok().out == expected


def _save_contexts(home: Path) -> None:
    """More contexts than an agent gets lines."""
    tables = (f'[contexts.hub{n}]\nbase_url = "https://hub{n}.example"\n' for n in range(60))
    (home / ".prime").mkdir()
    file = home / ".prime" / "config.toml"
    file.write_text("\n".join(tables), encoding="utf-8", newline="\n")
    file.chmod(0o600)


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_an_agent_says_that_it_types(name: str) -> None:
    assert find_agent({name: "1"}) == name
    assert is_unattended({name: "1"})


@pytest.mark.parametrize("value", ["amp", "crush", "Goose"])
def test_an_agent_is_known_by_its_name_in_a_common_variable(value: str) -> None:
    assert find_agent({"AGENT": value}) == "AGENT"


@pytest.mark.parametrize("value", ["", "1", "linux-x64", "ssh-agent"])
def test_what_others_call_agents_does_not_count(value: str) -> None:
    assert find_agent({"AGENT": value}) is None


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_a_person_may_say_no(value: str) -> None:
    assert find_agent({"AI_AGENT": value}) is None
    assert not is_unattended({"AI_AGENT": value})
