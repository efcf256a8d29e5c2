"""The scripts do in real shells what the user's Tab key asks of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from prime_cli.answers import bash, fish, powershell, zsh
from prime_cli.answers.tree import Node, Option

TREE = Node(
    path="prime",
    summary="",
    options=(Option(("--version",), "Show the version."),),
    commands=(
        Node(
            path="prime env",
            summary="Environments: write, publish.",
            options=(),
            commands=(
                Node(
                    path="prime env install",
                    summary="Install 'em.",
                    options=(
                        Option(("--with",), "The installer.", "value", ("uv", "pip")),
                        Option(("--path", "-p"), "A folder.", "folder"),
                        Option(("--quiet", "-q"), "Say less."),
                    ),
                    aliases=("add",),
                ),
                Node(path="prime env inspect", summary="Look.", options=()),
            ),
        ),
        Node(path="prime completion", summary="Print.", options=(), values=("bash", "zsh")),
    ),
)

# typed words, the last one being completed -> what is offered
OFFERS = [
    (["prime", ""], {"env", "completion"}),
    (["prime", "--v"], {"--version"}),
    (["prime", "env", "ins"], {"install", "inspect"}),
    (["prime", "env", "install", "--w"], {"--with"}),
    (["prime", "env", "add", "--q"], {"--quiet"}),
    (["prime", "env", "install", "x", "--with", ""], {"uv", "pip"}),
    (["prime", "env", "install", "--with", "uv", "--pa"], {"--path"}),
    (["prime", "completion", ""], {"bash", "zsh"}),
]


@pytest.mark.parametrize(("typed", "offered"), OFFERS)
def test_bash_offers_what_can_follow(typed: list[str], offered: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in typed)
    ask = (
        f"COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _prime; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert _lines("bash", bash.render(TREE) + ask) == offered


@pytest.mark.parametrize(("typed", "offered"), OFFERS)
def test_fish_offers_what_can_follow(typed: list[str], offered: set[str]) -> None:
    line = " ".join(typed)
    said = _lines("fish", fish.render(TREE) + f"complete -C '{line}'\n")
    assert {said_line.split("\t")[0] for said_line in said} == offered


@pytest.mark.parametrize(("typed", "offered"), OFFERS)
def test_zsh_offers_what_can_follow(typed: list[str], offered: set[str]) -> None:
    # Stand-ins for the completion system, which needs a terminal: they print the words.
    stand_ins = """\
compdef() { :; }
_describe() {
  [[ $1 == -o ]] && shift
  local each
  for each in ${(P)2}; do print -r -- ${each%%:*}; done
}
compadd() { shift; print -rl -- "$@"; }
_files() { print FILES; }
"""
    words = " ".join(f"'{word}'" for word in typed)
    ask = f"words=({words}); CURRENT={len(typed)}; _prime\n"
    said = _lines("zsh", stand_ins + zsh.render(TREE) + ask)
    assert {word for word in said if word.startswith(typed[-1])} == offered


def test_fish_shows_what_each_command_does() -> None:
    said = _lines("fish", fish.render(TREE) + "complete -C 'prime env ins'\n")
    assert "install\tInstall 'em." in said


def test_powershell_has_the_same_offers_as_data() -> None:
    text = powershell.render(TREE)
    assert "'prime env add' = 'prime env install'" in text
    assert "'prime env install --with' = 'uv pip'" in text
    assert "'prime env install' = '--with --path -p --quiet -q'" in text


def _lines(shell: str, script: str) -> set[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not on this machine")
    arguments = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [path, *arguments, "/dev/stdin"] if shell != "fish" else [path, *arguments],
        input=script,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert not done.stderr, done.stderr
    return set(done.stdout.split("\n")) - {""}
