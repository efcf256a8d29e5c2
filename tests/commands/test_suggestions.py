"""Fingers and scripts that know the official client, or vf-eval, find their words here."""

from pathlib import Path
from typing import Any

import pytest

from prime_cli.api.client import HubClient
from prime_cli.commands.base import LazyCommand, load
from tests.helpers.cli import Prime
from tests.helpers.hubs import publish

OFFICIAL = {
    "env init": "--path/-p --rewrite-readme --multi-file",
    "env list": "--num/-n --page/-p --owner --visibility --output --search/-s --tag/-t --sort "
    "--order --starred --mine --limit/-l",
    "env status": "--output",
    "env push": "--path/-p --name/-n --owner/-o --team/-t --visibility/-v --runtime --auto-bump "
    "--rc --post",
    "env pull": "--target/-t --version/-v",
    "env info": "--version/-v",
    "env inspect": "--version/-v --output/-o --max-bytes",
    "env install": "--with --path/-p --no-upgrade --prerelease",
    "env uninstall": "--with",
    "env delete": "--force/-f",
    "env version list": "--full-hashes",
    "env version delete": "--force/-f",
    "eval push": "--env/--env-id/-e --run-id/-r --eval/--eval-id --name --output/-o --public",
    "eval get": "--output/-o",
    "eval samples": "--page/-p --num/-n --output/-o",
    "eval logs": "--tail/-n",
    "eval list": "--output/-o --num/-n --page/-p --env/--env-name/-e",
    "eval run": "--env-args/-a --provider/-p --endpoints-path/-e --model/-m --api-key-var/-k "
    "--api-base-url/-b --header --num-examples/-n --rollouts-per-example/-r --max-concurrent/-c "
    "--max-tokens/-t --temperature/-T --sampling-args/-S --verbose/-v --no-interleave-scoring/-N "
    "--state-columns/-C --resume/-R --save-results/-s --save-dataset/-s --independent-scoring/-i "
    "--save-to-hf-hub/-H --hf-hub-dataset-name/-D --extra-env-kwargs/-x --fullscreen/-f "
    "--disable-tui/-d --max-retries --disable-env-server --num-workers/-w "
    "--abbreviated-summary/-A --skip-upload",
    "config view": "",
    "login": "--headless",
    "logout": "",
    "whoami": "",
    "switch": "",
    "teams list": "--output",
    "teams members": "--output",
    "availability list": "--gpu-type --gpu-count --regions --socket --provider --disks "
    "--group-similar --output/-o",
    "availability gpu-types": "--output/-o",
    "availability disks": "--regions --data-center-id --output/-o",
    "pods create": "--id --cloud-id --gpu-type --gpu-count --name --disk-size --vcpus --memory "
    "--image --custom-template-id --team-id --disks --env --share-with-team --add-members --yes/-y",
    "pods list": "--limit --offset --watch/-w --output/-o",
    "pods status": "--output/-o",
    "pods history": "--limit --offset --output/-o",
    "pods terminate": "--yes/-y",
    "pods ssh": "",
    "pods connect": "",
    "disks list": "--limit --offset --watch/-w --output/-o",
    "disks create": "--id --size --name --country --cloud-id --data-center-id --team-id "
    "--provider-type --yes/-y",
    "disks get": "--output/-o",
    "disks update": "--name",
    "disks terminate": "--yes/-y",
    "eval tui": "--env-dir/-e --outputs-dir/-o",
}
"""Options of releases 0.3.46, 0.7.7 and 0.18 of the official client, and of vf-eval in verifiers
0.1.5 and 0.1.14; those of each that have no counterpart here are in `commands/suggestions.py`."""


def _command(path: str) -> Any:
    found: Any = load("prime_cli.commands:app")
    for word in path.split():
        found = found.commands[word]
        if isinstance(found, LazyCommand):
            found = load(found.target)
    return found


@pytest.mark.parametrize("path", OFFICIAL)
def test_an_official_option_has_its_long_and_short_name_here(path: str) -> None:
    ours = [set(parameter.opts) for parameter in _command(path).params]
    for spellings in f"{OFFICIAL[path]} --plain".split():
        assert any(set(spellings.split("/")) <= names for names in ours), spellings


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("-c team env list", "`--context`"),
        ("config set-api-key k", "prime login --token-stdin"),
        ("config set-base-url http://127.0.0.1", "PRIME_API_BASE_URL"),
        ("--install-completion", "`prime completion install`"),
        ("--show-completion bash", "`prime completion bash`"),
        ("env eval wordle", "use `prime eval run`"),
        ("env list --offset 20", "`--page`"),
        ("env upload . --private", "`--visibility private`"),
        ("eval run wordle -o out", "`--output`"),
        ("eval logs ev_1 --follow", "`tail -f`"),
        ("eval run wordle --hosted", "run on this machine"),
        ("pods delete web", "`prime pods terminate`"),
        ("pod stop web", "`prime pods terminate`"),
        ("pods kill web", "`prime pods terminate`"),
        ("pod show web", "`prime pods status`"),
        ("pods run", "`prime pods create`"),
        ("pods create --gpus 1", "`--gpu-count`"),
        ("ssh web", "`prime pods ssh`"),
        ("disks rm data", "`prime disks terminate`"),
        ("disks show data", "`prime disks get`"),
        ("ssh-keys delete work", "`prime ssh-keys remove`"),
    ],
)
def test_what_is_not_here_is_said_with_what_to_do_instead(
    prime: Prime, line: str, hint: str
) -> None:
    result = prime(*line.split())
    assert result.code == 2
    assert hint in result.err.partition("hint: ")[2]


@pytest.mark.parametrize("line", ["--plain env list", "env --plain list", "env list --plain"])
def test_plain_is_taken_anywhere(prime: Prime, hub: HubClient, tmp_path: Path, line: str) -> None:
    publish(hub, tmp_path, "wordle")
    assert prime(*line.split()).ok().out.startswith("ada/wordle\t0.1.0\t")


def test_an_output_that_was_asked_for_wins_over_plain(prime: Prime, hub: HubClient) -> None:
    assert prime("--plain", "env", "list", "-o", "json").ok().json["total"] == 0


def test_a_context_before_the_command_is_taken_unless_the_command_has_one(
    prime: Prime, hub: HubClient
) -> None:
    assert "There is no context `nowhere`" in prime("--context", "nowhere", "env", "list").err
    prime("--context", "nowhere", "env", "list", "--context", "local").ok()
